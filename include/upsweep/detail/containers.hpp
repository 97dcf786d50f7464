// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/containers.hpp: marks what holds or returns containers of the standard library.
//
// With -D_GLIBCXX_DEBUG the containers of libstdc++ are larger. A program so compiled and a library that is not would read
// each other's containers wrongly. The mark is part of the names of functions, so that such a program does not link: what is
// undefined says why. Calls without containers, such as scans, link and work.
#pragma once

#ifdef _GLIBCXX_DEBUG
#define UPSWEEP_CONTAINERS [[gnu::abi_tag("upsweep_must_be_built_with_GLIBCXX_DEBUG_too")]]
#else
#define UPSWEEP_CONTAINERS
#endif
