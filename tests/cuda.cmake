# SPDX-License-Identifier: Apache-2.0
# tests/cuda.cmake: what needs a GPU. Compiled wherever CUDA is; skipped where there is no device.

upsweep_test(cuda_scan TIMEOUT 900 SOURCES cuda_scan_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_reduce TIMEOUT 900 SOURCES cuda_reduce_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_ragged TIMEOUT 900 SOURCES cuda_ragged_test.cpp LIBS CUDA::cudart_static nlohmann_json::nlohmann_json)
upsweep_test(cuda_segmented TIMEOUT 900 SOURCES cuda_segmented_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_by_key TIMEOUT 900 SOURCES cuda_by_key_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_group TIMEOUT 900 SOURCES cuda_group_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_group_sizes TIMEOUT 900 SOURCES cuda_group_sizes_test.cu LIBS CUDA::cudart_static)
upsweep_test(cuda_segmented_scan TIMEOUT 900 SOURCES cuda_segmented_scan_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_segmented_sort TIMEOUT 900 SOURCES cuda_segmented_sort_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_aggregate TIMEOUT 900 SOURCES cuda_aggregate_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_select TIMEOUT 900 SOURCES cuda_select_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_take TIMEOUT 900 SOURCES cuda_take_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_pack TIMEOUT 900 SOURCES cuda_pack_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_positions TIMEOUT 900 SOURCES cuda_positions_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_combinations TIMEOUT 900 SOURCES cuda_combinations_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_subset_sum TIMEOUT 900 SOURCES cuda_subset_sum_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_custom TIMEOUT 900 SOURCES cuda_custom_test.cu LIBS CUDA::cudart_static)
target_compile_options(test_cuda_custom PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda>)
upsweep_test(cuda_guide_cub SOURCES cuda_guide_cub_test.cu LIBS CUDA::cudart_static)
upsweep_test(cuda_guide_thrust SOURCES cuda_guide_thrust_test.cu LIBS CUDA::cudart_static)
upsweep_test(cuda_c_lists SOURCES cuda_c_lists_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_program SOURCES cuda_program_test.cpp LIBS CUDA::cudart_static)
# One test of two files, each for one architecture, as a program may be built of several libraries.
foreach(architecture IN ITEMS 80 90)
  add_library(cuda_architectures_${architecture} OBJECT cuda_architectures_${architecture}.cu)
  target_link_libraries(cuda_architectures_${architecture} PRIVATE upsweep::core GTest::gtest)
  target_include_directories(cuda_architectures_${architecture} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  # As PTX: newer devices compile it, too.
  set_target_properties(cuda_architectures_${architecture} PROPERTIES CUDA_ARCHITECTURES ${architecture}-virtual)
endforeach()
upsweep_test(cuda_architectures SOURCES cuda_architectures_test.cpp
  LIBS cuda_architectures_80 cuda_architectures_90 CUDA::cudart_static)
upsweep_test(cuda_large_lists LABELS large TIMEOUT 3600 SOURCES cuda_large_lists_test.cpp LIBS CUDA::cudart_static)
upsweep_test(cuda_large LABELS large TIMEOUT 3600 SOURCES cuda_large_test.cu LIBS CUDA::cudart_static)
set_tests_properties(cuda_scan cuda_reduce cuda_ragged cuda_segmented cuda_aggregate cuda_subset_sum
  cuda_select cuda_take cuda_pack cuda_positions cuda_combinations cuda_segmented_sort cuda_segmented_scan cuda_by_key cuda_group
  cuda_group_sizes
  cuda_custom cuda_guide_cub cuda_guide_thrust cuda_c_lists cuda_program cuda_architectures cuda_large cuda_large_lists PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no device")
