#pragma once

#include <vector>

#include "kernels/host/row_map.h"
#include "kernels/host/tensor.h"

namespace moeblaze::host {

/// One Step about to run: its operands and nothing else of the Plan's memory. T is the type kernels compute in.
template <typename T>
struct StepRun {
  StepRun(const Plan& ofPlan, const Step& toRun, std::vector<Tensor> read, std::vector<Tensor> written)
      : plan(ofPlan), step(toRun), reads(std::move(read)), writes(std::move(written)), map(plan, step, reads) {}

  void run();

  // Operands by what they are.
  const Tensor& data(size_t i) const { return *operandsOf(reads, Use::data).at(i); }
  size_t dataCount() const { return operandsOf(reads, Use::data).size(); }
  const Tensor& out(size_t i) const { return *operandsOf(writes, Use::data).at(i); }
  const Tensor* read(Use use) const { return first(reads, use); }
  const Tensor* written(Use use) const { return first(writes, use); }
  std::vector<const Tensor*> weights() const { return weightsOf(reads); }
  static const Tensor* first(const std::vector<Tensor>& tensors, Use use);

  static Matrix<T> load(const Tensor& tensor) { return tensor.load<T>(); }
  static void store(const Tensor& tensor, const Matrix<T>& values, int64_t first = 0) {
    tensor.store<T>(values, first);
  }

  /// Rows of the Step's experts from a tensor of any layout: rows as they are, tokens and slots through the index.
  Matrix<T> loadRows(const Tensor& tensor) const;
  /// The other way: rows as they are; slots, tokens and pairs through the index, zero where no row leads to them.
  void storeRows(const Tensor& tensor, const Matrix<T>& rows) const;
  /// Gate of each row of the Step's experts, 0 in padding; 1 everywhere when the Step reads none.
  Eigen::Matrix<T, Eigen::Dynamic, 1> rowGates() const;
  /// Row of the tensor where the Step's first row lies: tensors of a chunk hold only its rows.
  int64_t firstRowIn(const Tensor& tensor) const;
  /// No index structure among the operands: every row is its own.
  bool identity() const { return map.count() == 0 && map.experts() < 0; }

  /// Each expert's rows times its matrix, or its transpose.
  Matrix<T> multiply(const Matrix<T>& rows, const Tensor& weight, bool transposed) const;
  Matrix<T> activated(const Matrix<T>& a) const;
  /// A's gradient from act(A)'s, given what act's backward reads: A, or for relu its result.
  Matrix<T> activationGradient(const Matrix<T>& gradient, const Matrix<T>& kept) const;
  /// A and, when gated, B as the Step reads or writes them: two tensors, or one with both side by side.
  std::pair<Matrix<T>, Matrix<T>> loadProjections() const;
  void storeProjections(const Matrix<T>& a, const Matrix<T>& b) const;
  /// First projections of `rows`: A, and B when gated.
  std::pair<Matrix<T>, Matrix<T>> project(const Matrix<T>& rows, const std::vector<const Tensor*>& weights) const;

  void index();
  void gather();
  void scatter();
  void scatterAdd();
  void scaleRows();
  void reduce();
  void combine();
  void reduceGradients();
  void product();
  void weightGradient();
  void fusedUp();
  void fusedDownBackward();
  void activation();
  void activationBackward();
  void multiplyElements();
  void multiplyBackward();
  void fusedActivation();
  void fusedActivationBackward();
  void gateGradient();
  void add();
  void concatenate();
  void route();
  void routeBackward();

  const Plan& plan;
  const Step& step;
  const std::vector<Tensor> reads, writes;
  const RowMap map;
};

extern template struct StepRun<float>;
extern template struct StepRun<double>;

}  // namespace moeblaze::host
