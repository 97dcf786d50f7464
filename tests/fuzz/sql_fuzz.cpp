// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/sql_fuzz.cpp: bytes as SQL: parsed, bound to a table with columns of every kind, and run; or refused as
// specified.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/rows.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep::fuzz {
namespace {

constexpr std::int64_t kRows = 70;  // slightly more than a group of 64

const Table& table() {
  static Bytes first(nullptr,
                     0);  // zeros: all columns have few different values, so that conditions are sometimes true
  static const Rows rows(first, kRows);
  static MemoryTable all;
  if (!all.fields().empty()) return all;
  for (std::size_t c = 0; c < rows.fields().size(); ++c) {
    const ColumnData data = rows.data(static_cast<int>(c), 0);
    all.add(rows.fields()[c], data.values, kRows, data.validity, data.dictionary);
  }
  // Lists of 0 to 3 elements.
  static std::vector<std::int64_t> offsets;
  static std::vector<double> x;
  static std::vector<std::int64_t> y;
  static std::vector<std::uint8_t> gaps;
  for (std::int64_t row = 0; row <= kRows; ++row) {
    offsets.push_back(std::ssize(x));
    for (std::int64_t i = 0; i < row % 4; ++i) {
      x.push_back(row % 9 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(row - 30 * i) / 4);
      y.push_back(row % 11 == 0 ? std::numeric_limits<std::int64_t>::max() - i : row - 30 * i);
    }
  }
  gaps.assign(x.size() / 8 + 1, 0b11101101);
  all.add_lists("x", offsets, x);
  all.add_lists({.name = "y", .kind = ValueKind::integer, .storage = Storage::int64}, offsets,
                {.values = y.data(), .validity = gaps.data()}, std::ssize(y), gaps.data());
  all.add_lists({.name = "z", .kind = ValueKind::boolean, .storage = Storage::bit}, offsets, {.values = gaps.data()},
                std::ssize(y));
  return all;
}

/// `largest`: the maximum index that the error may have.
void check(const Error& error, std::int64_t largest) {
  const std::string message = error.what();
  require(!message.empty() && is_utf8(message), "a message that is not UTF-8: " + message);
  require(error.code() != Code::ok, "an error without a code: " + message);
  require(error.index() == kNoIndex || (error.index() >= 0 && error.index() <= largest),
          "index " + std::to_string(error.index()) + " of: " + message);
}

std::optional<Query> bound(const std::string& sql) {
  try {
    const Statement statement(sql);
    require(statement.path().empty() || statement.table().empty(), "both a path and a name");
    return Query(statement, table());
  } catch (const Error& error) {
    check(error, std::ssize(sql));
  }
  return std::nullopt;
}

/// Returns the answer's cells, or the error, as text.
std::string outcome(const Query& query, const Policy& policy, const std::string& sql) {
  std::string all;
  try {
    const Answer answer = query.run(policy, table());
    for (const auto& row : answer.rows) {
      require(row.size() == answer.columns.size(), "a row with other columns than the answer");
      for (std::size_t c = 0; c < row.size(); ++c) all += text(answer.columns[c], row[c]) + "|";
      all += "\n";
    }
  } catch (const Error& error) {
    check(error, std::max<std::int64_t>(std::ssize(sql), kRows));
    all = std::string(word(error.code())) + " " + std::to_string(error.index()) + " " + error.what();
  }
  return all;
}

// ----------------------------------------------------------------------------------------------------------- mutations
// After random changes of bytes the text is almost never SQL, so most mutations move whole words.

using Tokens = std::vector<std::string>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Words, numbers, and every other byte as a separate token; spaces belong to the token before them.
Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto joins = [](char c) { return is_letter(c) || is_digit(c) || c == '.'; };
    const bool goes_on = at > 0 && (text[at] == ' ' || (joins(text[at]) && joins(text[at - 1])));
    if (!goes_on) tokens.emplace_back();
    tokens.back() += text[at];
  }
  return tokens;
}

Tokens split(std::string_view list) {
  Tokens items;
  for (std::size_t at = 0; at <= list.size(); at += items.back().size() + 1) {
    items.emplace_back(list.substr(at, list.find('~', at) - at));
  }
  return items;
}

/// Returns text that is plausible in place of `token`, or anything.
std::string word_like(const std::string& token, std::mt19937& random) {
  static const Tokens kColumns = split("a~c~d~e~f~g~h~i~j~k~l~m~n~o~p~q~r~s~t~u~w~x~y~z");
  static const Tokens kNumbers = split(
      "0~1~2~3~4~9~100~0.01~.5~1e6~1e-40~1e400~9223372036854775807~9223372036854775808~4294967296~1.5~'it''s'~''~"
      "99999999999999999999999999999999999999~date '1998-12-01'~interval '90' day~interval '1 mon'~NULL~TRUE");
  static const Tokens kSigns = split("+~-~*~/~=~<>~<~<=~>~>=~AND~OR~,~(~)~||~::int~--~/*~*/~$$~%");
  static const Tokens kWords = split(
      "SELECT~FROM t~WHERE~GROUP BY~ORDER BY~LIMIT~NOT~BETWEEN~IN (1, 2)~IS NULL~CASE "
      "WHEN~THEN~ELSE~END~SUM(~COUNT(*)~MIN(~"
      "MAX(~AVG(~len(~list_sum(~list_max(~list_first(~list_filter(~list_transform(~, e -> e > ~, lambda v, i: v * "
      "~[1]~[-~"
      "list_contains(~AS~DESC~NULLS FIRST~DISTINCT~HAVING~OFFSET~LIKE~UNION~WITH~FILTER~OVER~E'\\'~\"a\"~ü~日");
  const char first = token.empty() ? ' ' : token[0];
  const bool is_column = is_letter(first) && (token.size() == 1 || token[1] == ' ');
  const Tokens* lists[] = {&kColumns, &kNumbers, &kSigns, &kWords};
  const std::size_t alike = is_column ? 0 : is_digit(first) ? 1 : is_letter(first) ? 3 : 2;
  const Tokens& list = *lists[random() % 4 != 0 ? alike : random() % std::size(lists)];
  return list[random() % list.size()] + " ";
}

void mutate(Tokens& tokens, std::mt19937& random) {
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random() % (tokens.size() + 1)); };
  const std::ptrdiff_t first = place();
  const std::ptrdiff_t end = std::min(first + 1 + static_cast<std::ptrdiff_t>(random() % 8), std::ssize(tokens));
  const Tokens piece(tokens.begin() + first, tokens.begin() + std::max(first, end));
  switch (piece.empty() ? 1 : random() % 6) {
    case 0:
      tokens.erase(tokens.begin() + first, tokens.begin() + end);
      break;
    case 1:
      tokens.insert(tokens.begin() + first, word_like("", random));
      break;
    case 2:
      tokens.insert(tokens.begin() + place(), piece.begin(), piece.end());
      break;
    default:
      tokens[static_cast<std::size_t>(first)] = word_like(piece[0], random);
  }
}

}  // namespace
}  // namespace upsweep::fuzz

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  using namespace upsweep::fuzz;
  std::mt19937 random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  Tokens tokens = tokens_of({reinterpret_cast<const char*>(data), size});
  for (auto edits = 1 + random() % 3; edits > 0; --edits) mutate(tokens, random);
  std::string text;
  for (const std::string& token : tokens) text += token;
  const std::size_t kept = std::min(text.size(), max_size);
  std::copy_n(text.begin(), kept, data);
  return kept;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace upsweep;
  const std::string sql(data, data + size);
  if (const auto query = fuzz::bound(sql)) {
    const std::string best = fuzz::outcome(*query, seq, sql);
    const std::string baseline = fuzz::outcome(*query, seq.with_isa(Isa::baseline), sql);
    fuzz::require(best == baseline, "instruction sets differ: " + best + "\n" + baseline);
  }
  return 0;
}
