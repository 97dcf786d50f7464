# SPDX-License-Identifier: Apache-2.0
# python/wheel.cmake: what a wheel contains in addition to the Python modules: libraries, the command, licenses.

# One copy of the library for all modules and the command, which therefore also share its threads.
set(libraries upsweep upsweep_awkward upsweep_query)
install(TARGETS ${libraries} LIBRARY DESTINATION upsweep/lib COMPONENT python NAMELINK_SKIP)
set_target_properties(${libraries} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/upsweep/lib")
upsweep_run_path(PATHS "$ORIGIN" TARGETS ${libraries})
install(TARGETS ${python_modules} LIBRARY DESTINATION upsweep COMPONENT python)
upsweep_run_path(PATHS "$ORIGIN/lib" "$ORIGIN/../pyarrow" TARGETS ${python_modules})
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/upsweep/_core.pyi" DESTINATION upsweep COMPONENT python)

# The command finds pyarrow's Arrow where pip installs it: next to this package.
install(TARGETS upsweep_command RUNTIME DESTINATION upsweep/bin COMPONENT python)
upsweep_run_path(PATHS "$ORIGIN/../lib" "$ORIGIN/../../pyarrow" TARGETS upsweep_command)
set(UPSWEEP_ARROW_LIBRARY "") # the library that command.py looks for in pyarrow
if(UPSWEEP_BUILD_ARROW)
  list(GET UPSWEEP_ARROW_LIBRARIES -1 library)
  cmake_path(GET library FILENAME UPSWEEP_ARROW_LIBRARY)
endif()
configure_file(command.py upsweep_command.py @ONLY)
install(PROGRAMS "${CMAKE_CURRENT_BINARY_DIR}/upsweep_command.py" DESTINATION "${SKBUILD_SCRIPTS_DIR}" RENAME upsweep
  COMPONENT python)

# The licenses of everything that is compiled in, or that tools/wheel.sh packs into the wheel.
set(doc /usr/share/doc)
set(licences
  oneTBB ${doc}/libtbb-dev/copyright
  fmt ${doc}/libfmt-dev/copyright
  CLI11 ${doc}/libcli11-dev/copyright
  nlohmann-json ${doc}/nlohmann-json3-dev/copyright
  libpg_query ${doc}/libpg-query-dev/copyright
  snappy ${doc}/libsnappy-dev/copyright
  nanobind ${NB_DIR}/../nanobind-${nanobind_VERSION}.dist-info/licenses/LICENSE
)
while(licences)
  list(POP_FRONT licences name file)
  if(NOT EXISTS "${file}") # harmless on the machine that builds; tools/wheel.sh, whose wheels are distributed, stops
    message(WARNING "the license of ${name}, which the wheel contains, is not at ${file}: do not distribute the wheel")
    continue()
  endif()
  install(FILES "${file}" DESTINATION "${SKBUILD_METADATA_DIR}/licenses/third_party" RENAME "${name}.txt" COMPONENT python)
endwhile()
