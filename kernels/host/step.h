#pragma once

#include <utility>
#include <vector>

#include "kernels/host/row_map.h"
#include "kernels/host/tensor.h"

namespace moeblaze::host {

/// One Step about to run on the processor, and how to run it. T is the type that the kernels compute in.
template <typename T>
struct StepRun : StepOperands<Tensor> {
  StepRun(const Plan& ofPlan, const Step& toRun, std::vector<Tensor> read, std::vector<Tensor> written)
      : StepOperands<Tensor>{ofPlan, toRun, std::move(read), std::move(written)}, map(plan, step, reads) {}

  /// Calls the member function named after the Step's Op. Throws std::out_of_range when the Step lacks an operand.
  void run();

  static Matrix<T> load(const Tensor& tensor) { return tensor.load<T>(); }
  static void store(const Tensor& tensor, const Matrix<T>& values, int64_t first = 0) {
    tensor.store<T>(values, first);
  }
  std::vector<const Tensor*> weights() const { return weightsOf(reads); }

  /// The rows of the Step's experts from a tensor of any layout: rows as they are stored, tokens and slots through the
  /// index structures, zeros for padding.
  Matrix<T> loadRows(const Tensor& tensor) const;
  /// Stores `rows` in a tensor of any layout: rows as they are, slots, tokens and pairs through the index structures,
  /// with zeros where no row leads to them.
  void storeRows(const Tensor& tensor, const Matrix<T>& rows) const;
  /// The gate of each row of the Step's experts, 0 in padding; 1 for every row when the Step reads no gates.
  Eigen::Matrix<T, Eigen::Dynamic, 1> rowGates() const;
  /// The row of `tensor` at which the Step's first row lies: 0 in a tensor that holds only the chunk's rows.
  int64_t firstRowIn(const Tensor& tensor) const;
  /// True when no operand is an index structure, so that each row stands for itself.
  bool identity() const { return map.count() == 0 && map.experts() < 0; }

  /// Each expert's rows times its matrix, or times the matrix transposed.
  Matrix<T> timesWeight(const Matrix<T>& rows, const Tensor& weight, bool transposed) const;
  Matrix<T> activated(const Matrix<T>& a) const;
  /// A's gradient from act(A)'s. `kept` is what act's backward reads: A, or for relu its result.
  Matrix<T> activationGradient(const Matrix<T>& gradient, const Matrix<T>& kept) const;
  /// A and, when gated, B as the Step reads or writes them: two tensors, or one with both side by side.
  std::pair<Matrix<T>, Matrix<T>> loadProjections() const;
  void storeProjections(const Matrix<T>& a, const Matrix<T>& b) const;
  /// The first projections of `rows`: A, and B when gated.
  std::pair<Matrix<T>, Matrix<T>> project(const Matrix<T>& rows, const std::vector<const Tensor*>& weights) const;

  // What grouped and dense products, and both ways to build index structures, have in common.
  void product();
  void buildStructures();

  // One function for each Op, in one of the *_ops.cpp files.
#define MOEBLAZE_OP(op, text) void op();
  MOEBLAZE_OPS(MOEBLAZE_OP)
#undef MOEBLAZE_OP

  const RowMap map;
};

extern template struct StepRun<float>;
extern template struct StepRun<double>;

}  // namespace moeblaze::host
