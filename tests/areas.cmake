# SPDX-License-Identifier: Apache-2.0
# tests/areas.cmake: one target per area, which builds and runs only the tests of this area.

# upsweep_area(NAME test…): defines the target area-NAME. Tests that this build does not contain are left out.
function(upsweep_area name)
  set(tests "")
  foreach(test IN LISTS ARGN)
    if(TARGET test_${test})
      list(APPEND tests ${test})
    endif()
  endforeach()
  if(NOT tests)
    return()
  endif()
  list(JOIN tests "|" names)
  add_custom_target(area-${name}
    COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR} -C $<CONFIG> --output-on-failure --no-tests=error -R "^(${names})$"
    USES_TERMINAL VERBATIM)
  list(TRANSFORM tests PREPEND test_)
  add_dependencies(area-${name} ${tests})
endfunction()

foreach(problem IN LISTS upsweep_problems)
  upsweep_area(${problem} ${problem}_rungs ${problem})
endforeach()
upsweep_area(api dynamic c_api c_lists)
upsweep_area(awkward awkward_golden awkward_index_kernels awkward_kernels awkward_vectors)
upsweep_area(climb climb mutants guests)
upsweep_area(io io parquet_parts table)
upsweep_area(plan plan)
upsweep_area(sql emulated_query group_rows groups query recent_values rows spill)
