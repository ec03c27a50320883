# gRPC for tacho-katib, in two ways: linked in (all but glibc; a sidecar is small and starts in milliseconds) and shared
# (beside libcurl, which brings the shared OpenSSL along). Code from proto/ is generated into the build folder.
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
pkg_check_modules(GRPC REQUIRED grpc++)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

set(TACHO_PROTO ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${TACHO_PROTO})
set(generated)
foreach(name katib health)
  set(outputs ${TACHO_PROTO}/${name}.pb.cc ${TACHO_PROTO}/${name}.grpc.pb.cc)
  add_custom_command(OUTPUT ${outputs} ${TACHO_PROTO}/${name}.pb.h ${TACHO_PROTO}/${name}.grpc.pb.h
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${TACHO_PROTO} --grpc_out=${TACHO_PROTO}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${name}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto VERBATIM)
  list(APPEND generated ${outputs})
endforeach()
add_library(tacho_proto STATIC ${generated})
target_include_directories(tacho_proto SYSTEM PUBLIC ${TACHO_PROTO})
target_compile_options(tacho_proto PRIVATE -w)

# The reflection library registers itself when it is linked whole.
set(grpc_static ${GRPC_STATIC_LIBRARIES})
list(REMOVE_ITEM grpc_static dl m rt pthread)
list(TRANSFORM grpc_static PREPEND -l)
add_library(tacho_grpc_static INTERFACE)
target_link_libraries(tacho_grpc_static INTERFACE tacho_proto
  -Wl,-Bstatic -Wl,--whole-archive -lgrpc++_reflection -Wl,--no-whole-archive -Wl,--start-group ${grpc_static} -lprotobuf -Wl,--end-group
  -Wl,-Bdynamic dl m rt pthread)
add_library(tacho_grpc_shared INTERFACE)
target_link_libraries(tacho_grpc_shared INTERFACE tacho_proto grpc++ grpc gpr protobuf::libprotobuf absl_synchronization)
