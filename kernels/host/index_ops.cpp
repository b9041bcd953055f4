#include <algorithm>
#include <numeric>

#include "kernels/host/step.h"

namespace moeblaze::host {
namespace {

/// Every kept pair of token and expert in row order, that is grouped by expert with tokens ascending within one, and
/// where each expert's rows begin.
struct Pairs {
  std::vector<int64_t> slot, expert;  ///< of each pair
  std::vector<int64_t> row;           ///< of each pair; padding counts as rows
  std::vector<int64_t> pairEnds, rowStarts;
  int64_t rows = 0;
};

Pairs sortPairs(const Plan& plan, const Tensor& ids) {
  const MoeConfig& c = plan.config;
  std::vector<std::vector<int64_t>> slots(c.experts);
  for (int64_t slot = 0; slot < c.rows(); ++slot) slots[ids.integer(slot)].push_back(slot);
  Pairs pairs;
  for (int64_t e = 0; e < c.experts; ++e) {
    if (plan.expertCapacity > 0 && std::ssize(slots[e]) > plan.expertCapacity) slots[e].resize(plan.expertCapacity);
    pairs.rowStarts.push_back(pairs.rows);
    for (size_t i = 0; i < slots[e].size(); ++i) {
      pairs.slot.push_back(slots[e][i]);
      pairs.expert.push_back(e);
      pairs.row.push_back(pairs.rows + static_cast<int64_t>(i));
    }
    pairs.pairEnds.push_back(std::ssize(pairs.slot));
    const int64_t count = std::ssize(slots[e]);
    pairs.rows +=
        plan.expertCapacity > 0 ? plan.expertCapacity : (count + plan.rowBlock - 1) / plan.rowBlock * plan.rowBlock;
  }
  pairs.rowStarts.push_back(pairs.rows);
  return pairs;
}

/// Fills an index structure that has one entry for each row, where padding gets -1, or one for each pair.
void fillRows(const Tensor& tensor, const Pairs& pairs, auto&& valueOfPair) {
  const bool perPair = tensor.rows() == std::ssize(pairs.slot);
  for (int64_t i = 0; !perPair && i < tensor.rows(); ++i) tensor.setInteger(i, -1);
  for (size_t i = 0; i < pairs.slot.size(); ++i)
    tensor.setInteger(perPair ? static_cast<int64_t>(i) : pairs.row[i], valueOfPair(i));
}

void fillStructure(const Tensor& tensor, const Pairs& pairs, const Tensor& ids, const MoeConfig& c) {
  switch (tensor.buffer->meaning) {
    case Meaning::none:
    case Meaning::scratch:
    case Meaning::blockTopology:
      return;
    case Meaning::expertOfSlot:
      for (int64_t slot = 0; slot < c.rows(); ++slot) tensor.setInteger(slot, ids.integer(slot));
      return;
    case Meaning::tokenOfRow:
      return fillRows(tensor, pairs, [&](size_t i) { return pairs.slot[i] / c.topK; });
    case Meaning::slotOfRow:
      return fillRows(tensor, pairs, [&](size_t i) { return pairs.slot[i]; });
    case Meaning::choiceOfRow:
      return fillRows(tensor, pairs, [&](size_t i) { return pairs.slot[i] % c.topK; });
    case Meaning::expertOfRow:
      return fillRows(tensor, pairs, [&](size_t i) { return pairs.expert[i]; });
    case Meaning::rowOfSlot:
      for (int64_t slot = 0; slot < c.rows(); ++slot) tensor.setInteger(slot, -1);
      for (size_t i = 0; i < pairs.slot.size(); ++i) tensor.setInteger(pairs.slot[i], pairs.row[i]);
      return;
    case Meaning::tokenOffsets:
      for (int64_t token = 0; token < c.tokens; ++token) tensor.setInteger(token, token * c.topK);
      return;
    case Meaning::offsets:
      for (int64_t e = 0; e <= c.experts; ++e) tensor.setInteger(e, pairs.rowStarts[e]);
      return;
    case Meaning::ends:
      for (int64_t e = 0; e < c.experts; ++e) tensor.setInteger(e, pairs.rowStarts[e + 1]);
      return;
    case Meaning::pairEnds:
      for (int64_t e = 0; e < c.experts; ++e) tensor.setInteger(e, pairs.pairEnds[e]);
      return;
    case Meaning::counts:
      for (int64_t e = 0; e < c.experts; ++e)
        tensor.setInteger(e, pairs.pairEnds[e] - (e == 0 ? 0 : pairs.pairEnds[e - 1]));
      return;
  }
}

}  // namespace

template <typename T>
void StepRun<T>::buildStructures() {
  const auto ids = std::find_if(reads.begin(), reads.end(),
                                [](const Tensor& t) { return t.buffer->meaning == Meaning::expertOfSlot; });
  assert(ids != reads.end());
  const Pairs pairs = sortPairs(plan, *ids);
  for (const Tensor& tensor : writes) fillStructure(tensor, pairs, *ids, plan.config);
}

template <typename T>
void StepRun<T>::sort() {
  buildStructures();
}

template <typename T>
void StepRun<T>::buildIndex() {
  buildStructures();
}

template void StepRun<float>::buildStructures();
template void StepRun<double>::buildStructures();
template void StepRun<float>::sort();
template void StepRun<double>::sort();
template void StepRun<float>::buildIndex();
template void StepRun<double>::buildIndex();

}  // namespace moeblaze::host
