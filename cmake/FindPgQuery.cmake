# SPDX-License-Identifier: Apache-2.0
# cmake/FindPgQuery.cmake: finds PostgreSQL's parser libpg_query: PgQuery::PgQuery; installed with static upsweep::query

# Prefers the archive, because the soname changes with every release.
find_library(PgQuery_LIBRARY NAMES libpg_query.a pg_query DOC "libpg_query")
find_path(PgQuery_INCLUDE_DIR pg_query.h DOC "The folder of pg_query.h")
mark_as_advanced(PgQuery_LIBRARY PgQuery_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PgQuery REQUIRED_VARS PgQuery_LIBRARY PgQuery_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "`make setup` of upsweep or apt-get install libpg-query-dev installs it")
if(PgQuery_FOUND AND NOT TARGET PgQuery::PgQuery)
  add_library(PgQuery::PgQuery UNKNOWN IMPORTED)
  set_target_properties(PgQuery::PgQuery PROPERTIES
    IMPORTED_LOCATION "${PgQuery_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${PgQuery_INCLUDE_DIR}")
endif()
