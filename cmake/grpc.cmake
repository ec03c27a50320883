# gRPC for tacho-katib, in two ways: linked in (all but glibc; a sidecar is small and starts in milliseconds) and shared
# (beside libcurl, which brings the shared OpenSSL along). Code from proto/ is generated into the build folder.
find_package(Protobuf REQUIRED)
find_program(PKG_CONFIG_EXECUTABLE pkg-config REQUIRED)
# Asked once and directly: pkg_check_modules() asks seventeen times, which takes 25 s with the hundred modules of Abseil.
if(NOT GRPC_STATIC_FLAGS)
  execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs-only-l grpc++ OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(GRPC_STATIC_FLAGS ${flags} CACHE INTERNAL "What to link for a static gRPC")
endif()
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
separate_arguments(grpc_static UNIX_COMMAND "${GRPC_STATIC_FLAGS}")
list(REMOVE_DUPLICATES grpc_static)
list(REMOVE_ITEM grpc_static -ldl -lm -lrt -lpthread)
add_library(tacho_grpc_static INTERFACE)
target_link_libraries(tacho_grpc_static INTERFACE tacho_proto
  -Wl,-Bstatic -Wl,--whole-archive -lgrpc++_reflection -Wl,--no-whole-archive -Wl,--start-group ${grpc_static} -lprotobuf -Wl,--end-group
  -Wl,-Bdynamic dl m rt pthread)
add_library(tacho_grpc_shared INTERFACE)
target_link_libraries(tacho_grpc_shared INTERFACE tacho_proto grpc++ grpc gpr protobuf::libprotobuf absl_synchronization)
