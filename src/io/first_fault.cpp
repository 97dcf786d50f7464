// SPDX-License-Identifier: Apache-2.0
// io/first_fault.cpp: picks the fault in the first row when several columns of a file have faults.
#include "io/first_fault.hpp"

#include "io/source.hpp"
#include "upsweep/detail/row_place.hpp"

namespace upsweep::io {

bool FirstFault::is_same_file(std::string_view source) const { return file_of(source) == file_of(source_); }

bool FirstFault::keep(std::string_view source, const Error& error) {
  if (error.index() == kNoIndex) return error_ != nullptr;
  const auto* const row = dynamic_cast<const RowError*>(&error);
  std::pair place{row != nullptr ? row->place().file : std::string(), error.index()};
  if (error_ && place_ <= place) return true;
  error_ = std::current_exception();
  source_ = source;
  place_ = std::move(place);
  return true;
}

}  // namespace upsweep::io
