# tacho-katib: the collector and its store, one file but for glibc. tacho-kube, run by it: all that speaks to Kubernetes.
# tacho-katib-exec: the launcher in the trainer's container, which needs nothing at all.
include(${CMAKE_CURRENT_LIST_DIR}/grpc.cmake)
foreach(folder katib/model katib/rpc katib/read katib/collect katib/db kube/api kube/trials kube/webhook)
  tacho_library(${folder})
endforeach()
tacho_uses(katib/rpc tacho_proto)
tacho_uses(katib/read libre2.a)
tacho_uses(katib/db libsqlite3.a)
find_path(TACHO_LIBPQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)  # its types alone: the library is loaded when needed
target_include_directories(tacho_katib_db SYSTEM PUBLIC ${TACHO_LIBPQ_INCLUDE})
tacho_uses(kube/api OpenSSL::SSL yaml-cpp z)
tacho_program(tacho-katib src/katib/main.cc katib/db grpc_static)
tacho_program(tacho-kube src/kube/main.cc kube/webhook kube/trials grpc_shared)
file(GLOB sources CONFIGURE_DEPENDS src/katib/exec/*.cc)
add_executable(tacho-katib-exec ${sources})
target_include_directories(tacho-katib-exec PRIVATE src)
target_compile_options(tacho-katib-exec PRIVATE -Wall -Wextra -Wconversion -Werror -Os -fno-exceptions -fno-rtti)
target_link_options(tacho-katib-exec PRIVATE -static -s -Wl,--gc-sections)
