# What `cmake --install` puts in place. The man page and the shell completions are printed by the program that was just
# built, so they cannot disagree with it; docs/metrics.md is checked the same way (tests/check_docs.sh).
set(TACHO_DOCS ${CMAKE_BINARY_DIR}/share)
file(MAKE_DIRECTORY ${TACHO_DOCS})

# tacho_document(NAME FILE): FILE is what `tacho docs NAME` prints.
function(tacho_document name file)
  add_custom_command(OUTPUT ${TACHO_DOCS}/${file}
    COMMAND tacho docs ${name} > ${TACHO_DOCS}/${file}
    DEPENDS tacho VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TACHO_DOCUMENTS ${TACHO_DOCS}/${file})
endfunction()
tacho_document(man tacho.1)
tacho_document(completion-bash tacho.bash)
tacho_document(completion-zsh _tacho)
tacho_document(completion-fish tacho.fish)
get_property(documents GLOBAL PROPERTY TACHO_DOCUMENTS)
add_custom_target(documents ALL DEPENDS ${documents})

# The older tool's name, for its users' scripts; also in the build folder, where the tests call it.
file(MAKE_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
file(CREATE_LINK tacho ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/resource-tracker SYMBOLIC)
install(TARGETS tacho RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# A shell that records what runs in it: beside tacho, and as bash and sh in a folder to put into PATH. tacho finds that
# folder beside its own, so it is in libexec of the same prefix wherever that is; the build folder has it too.
foreach(name bash sh)
  file(CREATE_LINK tacho ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tacho-${name} SYMBOLIC)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tacho-${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(shells ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/../libexec/tacho/shell)
  file(MAKE_DIRECTORY ${shells})
  file(CREATE_LINK ../../../bin/tacho ${shells}/${name} SYMBOLIC)
  install(FILES ${shells}/${name} DESTINATION libexec/tacho/shell)
endforeach()
if(TARGET tacho-query)
  install(TARGETS tacho-query RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET tacho-deliver)
  install(TARGETS tacho-deliver RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET tacho-katib)
  # Katib's own collectors, for its stock webhook.
  foreach(name file-metricscollector tfevent-metricscollector)
    file(CREATE_LINK tacho-katib ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name} SYMBOLIC)
    install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endforeach()
  # tacho-kube and tacho-katib-exec are found beside tacho-katib, so they go where it goes.
  install(TARGETS tacho-katib tacho-kube tacho-katib-exec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/resource-tracker DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${TACHO_DOCS}/tacho.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# What tacho is also called, and what it starts, is told by its own page.
foreach(name resource-tracker tacho-bash tacho-sh tacho-deliver tacho-query)
  if(NOT name MATCHES "deliver|query" OR TARGET ${name})
    file(CREATE_LINK tacho.1 ${TACHO_DOCS}/${name}.1 SYMBOLIC)
    install(FILES ${TACHO_DOCS}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()
install(FILES ${TACHO_DOCS}/tacho.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tacho)
install(FILES ${TACHO_DOCS}/_tacho DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${TACHO_DOCS}/tacho.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(PROGRAMS packaging/slurm/taskprolog packaging/slurm/epilogslurmctld DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tacho/slurm OPTIONAL)
install(FILES packaging/slurm/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tacho/slurm OPTIONAL)
install(FILES LICENSE README.md packaging/tacho.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tacho OPTIONAL)
