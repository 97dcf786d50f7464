# SPDX-License-Identifier: Apache-2.0
# cmake/pg_query.cmake: finds libpg_query, PostgreSQL's parser, which src/query cannot do without.

# The archive where there is one: its soname changes with every release.
find_library(UPSWEEP_PG_QUERY_LIBRARY NAMES libpg_query.a pg_query DOC "libpg_query")
find_path(UPSWEEP_PG_QUERY_INCLUDE pg_query.h DOC "The folder of pg_query.h")
mark_as_advanced(UPSWEEP_PG_QUERY_LIBRARY UPSWEEP_PG_QUERY_INCLUDE)
if(NOT UPSWEEP_PG_QUERY_LIBRARY OR NOT UPSWEEP_PG_QUERY_INCLUDE)
  message(FATAL_ERROR "libpg_query is not installed: `make setup` does that, or apt-get install libpg-query-dev; "
    "-DUPSWEEP_BUILD_COMMAND=OFF builds the library without the command")
endif()
