# CURL::libcurl, OpenSSL::SSL and OpenSSL::Crypto: the system's, or with TACHO_CURL archives that bring along nothing that
# tacho does not call.
if(NOT TACHO_CURL)
  find_package(CURL 7.85 REQUIRED)
  find_package(OpenSSL 3.0 REQUIRED)
  return()
endif()

# tacho_archive(TARGET FILE [WHAT IT NEEDS])
function(tacho_archive target file)
  if(NOT EXISTS ${TACHO_CURL}/lib/${file})
    message(FATAL_ERROR "There is no ${file} in ${TACHO_CURL}/lib. Make it: packaging/static-libs ${TACHO_CURL}")
  endif()
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${TACHO_CURL}/lib/${file}
    INTERFACE_INCLUDE_DIRECTORIES ${TACHO_CURL}/include)
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()
find_library(TACHO_libnghttp2.a libnghttp2.a REQUIRED)
tacho_archive(OpenSSL::Crypto libcrypto.a Threads::Threads ${CMAKE_DL_LIBS})
tacho_archive(OpenSSL::SSL libssl.a OpenSSL::Crypto)
tacho_archive(CURL::libcurl libcurl.a OpenSSL::SSL ${TACHO_libnghttp2.a} ${TACHO_libz.a})
