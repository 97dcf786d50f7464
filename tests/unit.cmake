# SPDX-License-Identifier: Apache-2.0
# tests/unit.cmake: the tests of the library: every rung, the C functions for Awkward Array, laws, and broken rungs.
#
# In the sanitizer builds: the rungs, as they read and write at every edge and on several threads. Not there: laws and
# mutants, which run the same code again; what they add is arithmetic.

upsweep_test(scan_rungs SANITIZE TIMEOUT 900 SOURCES scan_rungs_test.cpp)
upsweep_test(reduce_rungs SANITIZE TIMEOUT 900 SOURCES reduce_rungs_test.cpp)
upsweep_test(ragged_rungs SANITIZE TIMEOUT 900 SOURCES ragged_rungs_test.cpp)
upsweep_test(segmented_rungs SANITIZE TIMEOUT 900 SOURCES segmented_rungs_test.cpp)
upsweep_test(by_key SANITIZE SOURCES by_key_test.cpp)
upsweep_test(by_key_rungs SANITIZE TIMEOUT 900 SOURCES by_key_rungs_test.cpp)
upsweep_test(segmented_scan_rungs SANITIZE TIMEOUT 900 SOURCES segmented_scan_rungs_test.cpp)
upsweep_test(segmented_sort_rungs SANITIZE TIMEOUT 1800 SOURCES segmented_sort_rungs_test.cpp)
upsweep_test(combinations_rungs SANITIZE TIMEOUT 900 SOURCES combinations_rungs_test.cpp)
upsweep_test(aggregate_rungs SANITIZE TIMEOUT 900 SOURCES aggregate_rungs_test.cpp)
upsweep_test(select_rungs SANITIZE TIMEOUT 900 SOURCES select_rungs_test.cpp)
upsweep_test(partition_rungs SANITIZE TIMEOUT 900 SOURCES partition_rungs_test.cpp)
upsweep_test(take_rungs SANITIZE TIMEOUT 900 SOURCES take_rungs_test.cpp)
upsweep_test(pack_rungs SANITIZE TIMEOUT 1800 SOURCES pack_rungs_test.cpp)
upsweep_test(positions_rungs SANITIZE TIMEOUT 900 SOURCES positions_rungs_test.cpp)
upsweep_test(subset_sum_rungs SANITIZE TIMEOUT 900 SOURCES subset_sum_rungs_test.cpp)
upsweep_test(dynamic SANITIZE SOURCES dynamic_test.cpp)
upsweep_test(stress SANITIZE SOURCES stress_test.cpp)
upsweep_test(cores SANITIZE SOURCES cores_test.cpp)
upsweep_test(climb SOURCES climb_test.cpp)
enable_language(C)
upsweep_test(c_api SANITIZE SOURCES c_api_test.c)
upsweep_test(c_lists SANITIZE SOURCES c_lists_test.c)
upsweep_test(properties SOURCES properties_test.cpp LIBS rapidcheck)
upsweep_test(list_properties SOURCES list_properties_test.cpp LIBS rapidcheck)
upsweep_test(mutants SOURCES mutants_test.cpp)

find_package(nlohmann_json REQUIRED)
upsweep_test(awkward_golden SOURCES awkward_golden_test.cpp LIBS nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
upsweep_test(awkward_kernels SOURCES awkward_kernels_test.cpp LIBS ${CMAKE_DL_LIBS})
foreach(test IN ITEMS test_awkward_golden test_awkward_kernels)
  if(TARGET ${test})
    # Loaded by name, not linked: found on the run path.
    target_compile_definitions(${test} PRIVATE UPSWEEP_AWKWARD_LIBRARY="$<TARGET_SONAME_FILE_NAME:upsweep_awkward>")
    add_dependencies(${test} upsweep_awkward)
    set_target_properties(${test} PROPERTIES BUILD_RPATH "$<TARGET_FILE_DIR:upsweep_awkward>")
  endif()
endforeach()
