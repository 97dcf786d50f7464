# SPDX-License-Identifier: Apache-2.0
# tests/cuda.cmake: what needs a GPU. Compiled wherever CUDA is; skipped where there is no device.

upsweep_test(cuda_scan TIMEOUT 900 SOURCES cuda_scan_test.cpp LIBS CUDA::cudart_static)
target_compile_definitions(test_cuda_scan PRIVATE UPSWEEP_HAS_CUDA=1)
upsweep_test(cuda_reduce TIMEOUT 900 SOURCES cuda_reduce_test.cpp LIBS CUDA::cudart_static)
target_compile_definitions(test_cuda_reduce PRIVATE UPSWEEP_HAS_CUDA=1)
upsweep_test(cuda_ragged TIMEOUT 900 SOURCES cuda_ragged_test.cpp LIBS CUDA::cudart_static nlohmann_json::nlohmann_json)
upsweep_test(cuda_aggregate TIMEOUT 900 SOURCES cuda_aggregate_test.cpp LIBS CUDA::cudart_static)
target_compile_definitions(test_cuda_aggregate PRIVATE UPSWEEP_HAS_CUDA=1)
upsweep_test(cuda_subset_sum TIMEOUT 900 SOURCES cuda_subset_sum_test.cpp LIBS CUDA::cudart_static)
target_compile_definitions(test_cuda_subset_sum PRIVATE UPSWEEP_HAS_CUDA=1)
upsweep_test(cuda_custom TIMEOUT 900 SOURCES cuda_custom_test.cu LIBS CUDA::cudart_static)
upsweep_test(cuda_large LABELS large TIMEOUT 3600 SOURCES cuda_large_test.cu LIBS CUDA::cudart_static)
set_tests_properties(cuda_scan cuda_reduce cuda_ragged cuda_aggregate cuda_subset_sum
  cuda_custom cuda_large PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no device")
