// SPDX-License-Identifier: Apache-2.0
// tests/consume/table.cpp: a query of a table that the program implements.
#include "upsweep/table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "upsweep/query.hpp"

namespace {

/// 0, 1, … 99.
class Numbers final : public upsweep::Table {
 public:
  [[nodiscard]] const std::vector<upsweep::Field>& fields() const override { return fields_; }
  [[nodiscard]] int row_groups() const override { return 1; }
  [[nodiscard]] std::int64_t rows() const override { return 100; }
  [[nodiscard]] std::int64_t rows(int) const override { return 100; }
  [[nodiscard]] upsweep::ColumnRange range(int, int) const override { return {}; }
  [[nodiscard]] std::unique_ptr<upsweep::BatchReader> open(int, const std::vector<int>& columns) const override {
    return std::make_unique<Reader>(columns.size());
  }

 private:
  class Reader final : public upsweep::BatchReader {
   public:
    explicit Reader(std::size_t columns) : columns_(columns) { std::iota(values_.begin(), values_.end(), 0); }
    bool next(upsweep::Batch& batch) override {
      if (done_) return false;
      batch.rows = std::ssize(values_);
      batch.columns.assign(columns_, upsweep::ColumnData{.values = values_.data()});
      return done_ = true;
    }

   private:
    std::vector<std::int64_t> values_ = std::vector<std::int64_t>(100);
    std::size_t columns_;
    bool done_ = false;
  };

  std::vector<upsweep::Field> fields_{{.name = "n"}};
};

}  // namespace

int main() {
  const Numbers numbers;
  const upsweep::Answer answer = upsweep::Query("SELECT SUM(n) FROM numbers", numbers).run(upsweep::par, numbers);
  return answer.rows[0][0].exact == 4950 ? 0 : 1;
}
