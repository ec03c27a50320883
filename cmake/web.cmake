# web/ becomes a part of tacho: the files of the page in their order, one behind the other, as two texts in a source file of
# the build folder. Run as a script (cmake -P) it makes that file; included, it says how.
if(CMAKE_SCRIPT_MODE_FILE)
  # tacho_text(RESULT FILES): without lines that are nothing but a comment, and without indentation.
  function(tacho_text result)
    set(all "")
    foreach(file ${ARGN})
      file(READ ${WEB}/${file} text)
      string(REGEX REPLACE "\n[ \t]+" "\n" text "\n${text}")
      string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
      string(REGEX REPLACE "\n(/\\*\\*?[^\n]*\\*/)" "" text "${text}")
      string(REGEX REPLACE "\n\n+" "\n" text "${text}")
      string(APPEND all "${text}")
    endforeach()
    # A string literal of C++ is joined from pieces: compilers need not take more than 64 KiB in one.
    string(LENGTH "${all}" length)
    set(literal "")
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${all}" ${at} 8000 piece)
      string(APPEND literal "R\"WEB(${piece})WEB\"\n")
      math(EXPR at "${at} + 8000")
    endwhile()
    set(${result} "${literal}" PARENT_SCOPE)
  endfunction()
  if(NOT SCRIPTS)
    tacho_text(style page.css analyze.css)
    file(WRITE ${OUTPUT} "#include \"cromwell/analyze_assets.h\"\nnamespace tacho {\nconst std::string_view kAnalyzeStyle =\n${style};\n}  // namespace tacho\n")
    return()
  endif()
  tacho_text(style page.css)
  tacho_text(script ${SCRIPTS})
  file(WRITE ${OUTPUT} "#include \"report/page/html_assets.h\"\nnamespace tacho {\nconst std::string_view kPageStyle =\n${style};\nconst std::string_view kPageScript =\n${script};\n}  // namespace tacho\n")
  return()
endif()

set(TACHO_WEB_SCRIPTS values.js view.js chart.js band.js heat.js processes.js download.js page.js)
list(TRANSFORM TACHO_WEB_SCRIPTS PREPEND ${PROJECT_SOURCE_DIR}/web/ OUTPUT_VARIABLE scripts)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/web_assets.cc
  COMMAND ${CMAKE_COMMAND} -DWEB=${PROJECT_SOURCE_DIR}/web "-DSCRIPTS=${TACHO_WEB_SCRIPTS}" -DOUTPUT=${CMAKE_BINARY_DIR}/web_assets.cc
          -P ${PROJECT_SOURCE_DIR}/cmake/web.cmake
  DEPENDS ${scripts} ${PROJECT_SOURCE_DIR}/web/page.css ${PROJECT_SOURCE_DIR}/cmake/web.cmake VERBATIM)
target_sources(tacho_report_page PRIVATE ${CMAKE_BINARY_DIR}/web_assets.cc)

# tacho_analyze_style(): the style of the page of tacho cromwell analyze, which has no script.
function(tacho_analyze_style)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/analyze_assets.cc
    COMMAND ${CMAKE_COMMAND} -DWEB=${PROJECT_SOURCE_DIR}/web -DOUTPUT=${CMAKE_BINARY_DIR}/analyze_assets.cc
            -P ${PROJECT_SOURCE_DIR}/cmake/web.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/web/page.css ${PROJECT_SOURCE_DIR}/web/analyze.css ${PROJECT_SOURCE_DIR}/cmake/web.cmake VERBATIM)
  target_sources(tacho_cromwell PRIVATE ${CMAKE_BINARY_DIR}/analyze_assets.cc)
endfunction()
