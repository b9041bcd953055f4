#pragma once

#include <vector>

#include "kernels/host/tensor.h"

namespace moeblaze::host {

/// Tells which token, choice and expert each row of a Step's experts is, from the index structures that the Step reads
/// and from nothing else. The answer is -1 in padding and where the structures do not tell.
class RowMap {
 public:
  RowMap(const Plan& plan, const Step& step, const std::vector<Tensor>& reads);

  int64_t firstRow() const { return firstRow_; }        ///< first row of the Step's first expert, among all rows
  int64_t count() const { return std::ssize(token_); }  ///< rows of the Step's experts
  int64_t firstExpert() const { return firstExpert_; }
  int64_t experts() const { return std::ssize(starts_) - 1; }
  /// The Step's e-th expert has rows [start(e), start(e+1)), counted from firstRow.
  int64_t start(int64_t expert) const { return starts_[expert]; }

  int64_t token(int64_t row) const { return token_[row]; }
  int64_t choice(int64_t row) const { return choice_[row]; }
  int64_t expert(int64_t row) const { return expert_[row]; }
  int64_t slot(int64_t row) const { return token_[row] * topK_ + choice_[row]; }

 private:
  void findExperts(const Plan& plan, const Step& step, const std::vector<Tensor>& reads);
  void findPairs(const std::vector<Tensor>& reads);
  /// The Step's row that the i-th entry of an index structure of `length` entries describes; -1 when it is not the
  /// Step's.
  int64_t rowOfEntry(int64_t i, int64_t length) const;

  int64_t topK_, firstRow_ = 0, firstExpert_ = 0;
  int64_t allRows_ = 0;
  std::vector<int64_t> starts_, token_, choice_, expert_;
  std::vector<int64_t> padded_;  ///< row of each pair, where expertOfRow has entries for pairs and none for padding
};

}  // namespace moeblaze::host
