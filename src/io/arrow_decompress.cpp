// SPDX-License-Identifier: Apache-2.0
// io/arrow_decompress.cpp: decompresses files by Arrow's codecs.
#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <fmt/format.h>

#include "io/arrow_errors.hpp"
#include "io/spool.hpp"
#include "io/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

arrow::Compression::type codec_of(Format format) {
  switch (format) {
    case Format::gzip:
      return arrow::Compression::GZIP;
    case Format::zstd:
      return arrow::Compression::ZSTD;
    case Format::bzip2:
      return arrow::Compression::BZ2;
    default:
      return arrow::Compression::UNCOMPRESSED;
  }
}

}  // namespace

FilePath decompress(const FilePath& file, Format format, const std::string& folder, std::int64_t most) {
  const std::string& name = file.name;
  const arrow::Compression::type type = codec_of(format);
  if (!arrow::util::Codec::IsAvailable(type)) {
    throw Error(Code::not_built, fmt::format("{}: is compressed by {}, which the Arrow C++ of this build does not "
                                             "include; decompress it first, such as by {}",
                                             name, describe(format), decompressor(format)));
  }
  const auto codec = checked(name, [&] { return arrow::util::Codec::Create(type); });
  const auto raw = checked(name, [&] { return arrow::io::ReadableFile::Open(file.path); });
  const auto stream = checked(name, [&] { return arrow::io::CompressedInputStream::Make(codec.get(), raw); });
  Spool spool(name, folder);
  for (;;) {
    const auto read = stream->Read(tuning::kBinary.copied);
    if (!read.ok()) {
      throw Error(Code::malformed, fmt::format("{}: its {} data is damaged or truncated: {}; copy or compress the file "
                                               "again",
                                               name, describe(format), printable(read.status().message(), 200)));
    }
    if ((*read)->size() == 0) return spool.file();
    spool.write((*read)->data(), (*read)->size());
    if (most == 0 || spool.written() < most) continue;
    FilePath cut = spool.file();
    cut.is_cut = true;
    return cut;
  }
}

}  // namespace upsweep::io
