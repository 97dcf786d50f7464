# SPDX-License-Identifier: Apache-2.0
# tests/cli.cmake: the tests of the command, one CTest entry per file of tests/cli.
foreach(name IN ITEMS scan reduce offsets files csv messages query query_random subset_sum ladder streams device)
  upsweep_script_test(cli_${name} LABELS cli
    COMMAND ${CMAKE_COMMAND} -E env UPSWEEP_COMMAND=$<TARGET_FILE:upsweep_command>
            ${UPSWEEP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/cli/run.py ${CMAKE_CURRENT_LIST_DIR}/cli/test_${name}.py)
endforeach()
if(TEST cli_device)
  set_tests_properties(cli_device PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no device")
endif()
