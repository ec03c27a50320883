# How every target of tacho is compiled, and the two ways to declare one.

add_library(tacho_flags INTERFACE)
target_include_directories(tacho_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tacho_flags INTERFACE -Wall -Wextra -Wconversion -Werror
  -fno-omit-frame-pointer -fstack-protector-strong)
# GCC 12 sees overflows in its own std::string where there are none (GCC bugs 105329, 105651); the sanitized builds look for real ones.
target_compile_options(tacho_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>)
target_compile_definitions(tacho_flags INTERFACE
  TACHO_VERSION="${PROJECT_VERSION}" $<$<BOOL:${TACHO_STATIC}>:TACHO_STATIC=1>
  $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
target_link_options(tacho_flags INTERFACE -Wl,-z,relro,-z,now)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  target_compile_options(tacho_flags INTERFACE -fsigned-char)  # as on x86: a byte of UTF-8 is below zero on every machine
endif()
if(TACHO_SANITIZE)
  target_compile_options(tacho_flags INTERFACE -fsanitize=${TACHO_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(tacho_flags INTERFACE -fsanitize=${TACHO_SANITIZE})
  target_compile_definitions(tacho_flags INTERFACE TACHO_SANITIZED=1)
else()
  # The agent starts in a millisecond: only libc is left to be loaded.
  target_link_options(tacho_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# Shared in a normal build, linked in where nothing but glibc is to be loaded.
set(TACHO_Z z)
set(TACHO_DEFLATE deflate)
if(TACHO_CURL)
  set(TACHO_Z libz.a)
  set(TACHO_DEFLATE libdeflate.a)
endif()

# What nearly every file includes is parsed once: half of the time to compile went into headers of the standard library and of
# the JSON library. A file still includes what it uses.
set(TACHO_STANDARD_HEADERS <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view> <utility> <vector>)
set(TACHO_JSON_FOLDERS net/aws net/google net/metrics cloud deliver cromwell kube/api kube/webhook kube/trials)
function(tacho_precompile folder name)
  if(folder STREQUAL "base")
    target_precompile_headers(tacho_base PRIVATE ${TACHO_STANDARD_HEADERS})
  elseif(folder STREQUAL "net/http")
    target_precompile_headers(tacho_net_http PRIVATE ${TACHO_STANDARD_HEADERS} <nlohmann/json.hpp>)
  elseif(folder IN_LIST TACHO_JSON_FOLDERS)
    target_precompile_headers(tacho_${name} REUSE_FROM tacho_net_http)
  else()
    target_precompile_headers(tacho_${name} REUSE_FROM tacho_base)
  endif()
endfunction()

# From nothing, files are compiled sixteen at a time, which halves the time: headers and templates are worked through once. The price is
# that a name of an anonymous namespace must be unique in its folder. Probes are exempt (a file that defines a ProbeInfo):
# each has the same four names.
# Whoever edits one file and builds again is faster without (preset dev).
option(TACHO_UNITY "Compile several files of a folder as one" ON)
target_compile_options(tacho_flags INTERFACE $<$<AND:$<BOOL:${TACHO_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)  # a hidden State of a class uses file-local types
function(tacho_unity target files_at_once)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TACHO_UNITY} UNITY_BUILD_BATCH_SIZE ${files_at_once})
endfunction()

# tacho_target(NAMES FOLDER…): the library targets of folders. That of net/http is tacho_net_http.
function(tacho_target result)
  string(REPLACE "/" "_" names "${ARGN}")
  list(TRANSFORM names PREPEND tacho_)
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# tacho_sees(FOLDERS FOLDER): what a folder may see, by the line of the table "| `FOLDER` | what is in it | FOLDERS |".
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ARCHITECTURE.md)
file(READ ${PROJECT_SOURCE_DIR}/ARCHITECTURE.md TACHO_MAP)
function(tacho_sees result folder)
  if(NOT TACHO_MAP MATCHES "\n\\| `${folder}` \\|[^|\n]*\\| ([^|\n]*)\\|\n")
    message(FATAL_ERROR "src/${folder} is not in the table of folders of ARCHITECTURE.md")
  endif()
  separate_arguments(folders UNIX_COMMAND "${CMAKE_MATCH_1}")
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

# tacho_library(FOLDER): all of src/FOLDER/*.cc but its tests and main programs.
function(tacho_library folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|main)\\.cc$")
  tacho_sees(folders ${folder})
  tacho_target(seen ${folders})
  tacho_target(target ${folder})
  string(REPLACE "/" "_" name ${folder})
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC tacho_flags ${seen})
  tacho_precompile(${folder} ${name})
  tacho_unity(${target} 16)
  foreach(source ${sources})
    file(STRINGS ${source} probe REGEX "^(constinit )?const ProbeInfo k" LIMIT_COUNT 1)
    if(probe)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# tacho_program(TARGET MAIN [FOLDERS]): one main file, linked with those folders.
function(tacho_program target main)
  tacho_target(libraries ${ARGN})
  add_executable(${target} ${main})
  target_link_libraries(${target} PRIVATE ${libraries} Threads::Threads ${CMAKE_DL_LIBS})
  # tacho-deliver only with a libcurl that can be: the system's needs glibc's loader.
  if(TACHO_STATIC AND (target MATCHES "^tacho(-query)?$" OR TACHO_CURL))
    target_link_options(${target} PRIVATE -static)
  endif()
endfunction()

# tacho_uses(FOLDER LIBRARY…): third-party libraries of a folder. libNAME.a is the archive, so that nothing is loaded at start.
function(tacho_uses folder)
  tacho_target(target ${folder})
  foreach(library ${ARGN})
    if(library MATCHES "\\.a$")
      find_library(TACHO_${library} ${library} REQUIRED)
      set(library ${TACHO_${library}})
    endif()
    target_link_libraries(${target} PUBLIC ${library})
  endforeach()
endfunction()
