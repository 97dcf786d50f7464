// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/containers.hpp: a mark for functions that hold or return containers of the standard library.
//
// With -D_GLIBCXX_DEBUG the containers of libstdc++ are larger. If only the program is compiled with it, the program
// and the library would read each other's containers wrongly. The mark is part of the names of functions, so such a
// program does not link, and the undefined name states the reason. Calls without containers, such as scans, link and
// work.
#pragma once

#ifdef _GLIBCXX_DEBUG
#define UPSWEEP_CONTAINERS [[gnu::abi_tag("upsweep_must_be_built_with_GLIBCXX_DEBUG_too")]]
#else
#define UPSWEEP_CONTAINERS
#endif
