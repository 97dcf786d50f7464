# SPDX-License-Identifier: Apache-2.0
# tests/unit.cmake: the tests of the library: every rung, the C functions for Awkward Array, laws, and mutants.
#
# Sanitizer builds run the rungs, which read and write at every edge and on several threads. They omit laws and mutants,
# which run the same code again and only add arithmetic.

foreach(problem IN LISTS upsweep_problems)
  upsweep_test(${problem}_rungs SANITIZE SOURCES ${problem}_rungs_test.cpp)
endforeach()
upsweep_test(by_key SANITIZE SOURCES by_key_test.cpp)
upsweep_test(dynamic SANITIZE SOURCES dynamic_test.cpp)
upsweep_test(stress SANITIZE SOURCES stress_test.cpp)
upsweep_test(cores SANITIZE SOURCES cores_test.cpp)
upsweep_test(plan SANITIZE SOURCES plan_test.cpp)
upsweep_test(recent_values SANITIZE SOURCES recent_values_test.cpp)
upsweep_test(tuning SOURCES tuning_test.cpp)
upsweep_test(climb SOURCES climb_test.cpp)
upsweep_test(guide_operator SANITIZE SOURCES guide_operator_test.cpp)
upsweep_test(guide_floats SANITIZE SOURCES guide_floats_test.cpp)
enable_language(C)
upsweep_test(c_api SANITIZE SOURCES c_api_test.c)
upsweep_test(c_lists SANITIZE SOURCES c_lists_test.c)
upsweep_test(properties SOURCES properties_test.cpp LIBS rapidcheck)
upsweep_test(list_properties SOURCES list_properties_test.cpp LIBS rapidcheck)
upsweep_test(mutants SOURCES mutants_test.cpp)
upsweep_require(TBB libtbb-dev)
upsweep_test(guide_std SOURCES guide_std_test.cpp LIBS TBB::tbb)

upsweep_require(nlohmann_json nlohmann-json3-dev)
upsweep_test(awkward_golden SOURCES awkward_golden_test.cpp LIBS nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
upsweep_test(awkward_kernels SOURCES awkward_kernels_test.cpp LIBS ${CMAKE_DL_LIBS})
upsweep_test(awkward_vectors SANITIZE SOURCES awkward_vectors_test.cpp)
upsweep_test(awkward_index_kernels SOURCES awkward_index_kernels_test.cpp LIBS ${CMAKE_DL_LIBS})
foreach(test IN ITEMS test_awkward_golden test_awkward_kernels test_awkward_index_kernels)
  if(TARGET ${test})
    # The library is not linked, but loaded by its name: it is found on the run path.
    target_compile_definitions(${test} PRIVATE UPSWEEP_AWKWARD_LIBRARY="$<TARGET_SONAME_FILE_NAME:upsweep_awkward>")
    add_dependencies(${test} upsweep_awkward)
    set_target_properties(${test} PROPERTIES BUILD_RPATH "$<TARGET_FILE_DIR:upsweep_awkward>")
  endif()
endforeach()
