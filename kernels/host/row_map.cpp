#include "kernels/host/row_map.h"

#include <algorithm>

namespace moeblaze::host {
namespace {

/// First row of every expert, then the number of rows: [E+1], from whichever structure tells. Empty when none does, and
/// for dense Steps.
std::vector<int64_t> allStarts(const Plan& plan, const Step& step, const std::vector<Tensor>& reads) {
  if (step.gemm.experts == 0) return {};
  const int64_t experts = plan.config.experts;
  std::vector<int64_t> starts{0};
  if (const Tensor* offsets = indexOf(reads, Meaning::offsets)) {
    for (int64_t e = 0; e < experts; ++e) starts.push_back(offsets->integer(e + 1));
    return starts;
  }
  if (const Tensor* ends = indexOf(reads, Meaning::ends)) {
    for (int64_t e = 0; e < experts; ++e) starts.push_back(ends->integer(e));
    return starts;
  }
  const Tensor* ids = indexOf(reads, Meaning::expertOfRow);
  if (ids == nullptr) ids = indexOf(reads, Meaning::expertOfSlot);
  if (plan.expertCapacity == 0 && ids == nullptr) return {};
  std::vector<int64_t> counts(experts, plan.expertCapacity);
  for (int64_t i = 0; plan.expertCapacity == 0 && i < ids->rows(); ++i) ++counts[ids->integer(i)];
  for (int64_t count : counts)
    starts.push_back(starts.back() + (count + plan.rowBlock - 1) / plan.rowBlock * plan.rowBlock);
  return starts;
}

}  // namespace

RowMap::RowMap(const Plan& plan, const Step& step, const std::vector<Tensor>& reads) : topK_(plan.config.topK) {
  findExperts(plan, step, reads);
  findPairs(reads);
}

void RowMap::findExperts(const Plan& plan, const Step& step, const std::vector<Tensor>& reads) {
  const std::vector<int64_t> all = allStarts(plan, step, reads);
  int64_t rows = 0;
  if (!all.empty()) {
    firstExpert_ = step.gemm.firstExpert;
    const int64_t experts = step.gemm.experts;
    firstRow_ = all[firstExpert_];
    allRows_ = all.back();
    for (int64_t e = firstExpert_; e <= firstExpert_ + experts; ++e) starts_.push_back(all[e] - firstRow_);
    rows = starts_.back();
  } else {
    for (Meaning meaning : {Meaning::tokenOfRow, Meaning::slotOfRow, Meaning::rowOfSlot})
      if (const Tensor* map = indexOf(reads, meaning)) rows = allRows_ = map->rows() * map->columns();
  }
  token_.assign(rows, -1);
  choice_.assign(rows, -1);
  expert_.assign(rows, -1);
  for (int64_t e = 0; e + 1 < std::ssize(starts_); ++e)
    std::fill(expert_.begin() + starts_[e], expert_.begin() + starts_[e + 1], firstExpert_ + e);

  if (const Tensor* expertOfRow = indexOf(reads, Meaning::expertOfRow);
      expertOfRow && expertOfRow->rows() != allRows_) {
    std::vector<int64_t> next = all;
    for (int64_t i = 0; i < expertOfRow->rows(); ++i) padded_.push_back(next[expertOfRow->integer(i)]++);
  }
}

int64_t RowMap::rowOfEntry(int64_t i, int64_t length) const {
  const int64_t row = (length == allRows_ || padded_.empty() ? i : padded_[i]) - firstRow_;
  return row >= 0 && row < count() ? row : -1;
}

void RowMap::findPairs(const std::vector<Tensor>& reads) {
  const auto eachRow = [&](Meaning meaning, auto&& set) {
    const Tensor* map = indexOf(reads, meaning);
    if (map == nullptr) return;
    const int64_t length = map->rows();
    for (int64_t i = 0; i < length; ++i)
      if (const int64_t row = rowOfEntry(i, length), value = map->integer(i); row >= 0 && value >= 0) set(row, value);
  };
  eachRow(Meaning::tokenOfRow, [&](int64_t row, int64_t token) { token_[row] = token; });
  eachRow(Meaning::choiceOfRow, [&](int64_t row, int64_t choice) { choice_[row] = choice; });
  eachRow(Meaning::slotOfRow, [&](int64_t row, int64_t slot) {
    token_[row] = slot / topK_;
    choice_[row] = slot % topK_;
  });
  if (const Tensor* rowOfSlot = indexOf(reads, Meaning::rowOfSlot)) {
    const int64_t slots = rowOfSlot->buffer->shape.count();
    for (int64_t slot = 0; slot < slots; ++slot) {
      const int64_t row = rowOfSlot->integer(slot) - firstRow_;
      if (row < 0 || row >= count()) continue;
      token_[row] = slot / topK_;
      choice_[row] = slot % topK_;
    }
  }
}

}  // namespace moeblaze::host
