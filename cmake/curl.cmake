# CURL::libcurl and OpenSSL: the system's, or with TACHO_CURL archives that bring along nothing that tacho does not call.
if(TACHO_CURL)
  set(OPENSSL_ROOT_DIR ${TACHO_CURL})
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()
find_package(OpenSSL 3.0 REQUIRED)
if(NOT TACHO_CURL)
  find_package(CURL 7.85 REQUIRED)
  return()
endif()

if(NOT EXISTS ${TACHO_CURL}/lib/libcurl.a OR NOT EXISTS ${TACHO_CURL}/lib/libssl.a)
  message(FATAL_ERROR "There is no libcurl in ${TACHO_CURL}: packaging/static-libs ${TACHO_CURL}")
endif()
find_library(TACHO_libnghttp2.a libnghttp2.a REQUIRED)
add_library(CURL::libcurl STATIC IMPORTED)
set_target_properties(CURL::libcurl PROPERTIES IMPORTED_LOCATION ${TACHO_CURL}/lib/libcurl.a
  INTERFACE_INCLUDE_DIRECTORIES ${TACHO_CURL}/include INTERFACE_COMPILE_DEFINITIONS CURL_STATICLIB)
target_link_libraries(CURL::libcurl INTERFACE OpenSSL::SSL OpenSSL::Crypto ${TACHO_libnghttp2.a} ${TACHO_libz.a})
