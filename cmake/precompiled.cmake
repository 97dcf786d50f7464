# SPDX-License-Identifier: Apache-2.0
# cmake/precompiled.cmake: parses headers once for many sources: by precompiling, and by compiling sources together.

# ccache does not reuse objects that were compiled with precompiled headers. It saves more time than they do.
if("${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# upsweep_precompile(TARGET HEADER): every file must still include what it uses, because builds with ccache need it.
function(upsweep_precompile target header)
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
endfunction()
set(UPSWEEP_STANDARD_LIBRARY ${PROJECT_SOURCE_DIR}/cmake/standard_library.hpp)

# upsweep_unity(TARGET COUNT): compiles COUNT of the target's sources as one translation unit, as headers take most of
# their time.
function(upsweep_unity target count)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
endfunction()
