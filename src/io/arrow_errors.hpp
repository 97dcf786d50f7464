// SPDX-License-Identifier: Apache-2.0
// io/arrow_errors.hpp: converts the errors of Arrow C++ to upsweep::Error.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <parquet/exception.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "upsweep/error.hpp"

namespace upsweep::io {

/// Throws the Error that the user sees for a failure of Arrow. Its message starts with `name`.
[[noreturn]] void throw_status(const std::string& name, const arrow::Status& status);

/// Runs `read` and converts everything that Arrow throws or returns to an Error that starts with `name`.
template <class Read>
auto checked(const std::string& name, Read&& read) {
  try {
    auto result = read();
    if (!result.ok()) throw_status(name, result.status());
    return std::move(result).ValueUnsafe();
  } catch (const parquet::ParquetStatusException& thrown) {
    throw_status(name, thrown.status());
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw_status(name, arrow::Status::OutOfMemory("an allocation failed"));
  } catch (const std::exception& thrown) {
    throw_status(name, arrow::Status::Invalid(thrown.what()));
  }
}

}  // namespace upsweep::io
