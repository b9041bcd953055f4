#include "kernels/host/step.h"

namespace moeblaze::host {

template <typename T>
int64_t StepRun<T>::firstRowIn(const Tensor& tensor) const {
  return tensor.rows() == map.count() ? 0 : map.firstRow();
}

namespace {

/// The row of a tensor of tokens, slots or pairs that the Step's row `row` is read from or written to; -1 for padding.
int64_t address(const Tensor& tensor, const RowMap& map, int64_t row) {
  const int64_t token = map.token(row);
  if (token < 0) return -1;
  const auto extents = tensor.buffer->shape.extents();
  switch (tensor.buffer->layout) {
    case Layout::slots:
      return token * extents[1] + map.choice(row);
    case Layout::choiceSlots:
      return map.choice(row) * extents[1] + token;
    case Layout::expertTokens:
      return map.expert(row) * extents[1] + token;
    default:
      return token;
  }
}

}  // namespace

template <typename T>
Matrix<T> StepRun<T>::loadRows(const Tensor& tensor) const {
  if (identity()) return load(tensor);
  if (tensor.buffer->layout == Layout::rows) return tensor.load<T>(firstRowIn(tensor), map.count());
  const Matrix<T> all = load(tensor);
  Matrix<T> rows = Matrix<T>::Zero(map.count(), all.cols());
  for (int64_t r = 0; r < map.count(); ++r)
    if (const int64_t from = address(tensor, map, r); from >= 0) rows.row(r) = all.row(from);
  return rows;
}

template <typename T>
void StepRun<T>::storeRows(const Tensor& tensor, const Matrix<T>& rows) const {
  if (identity()) return store(tensor, rows);
  if (tensor.buffer->layout == Layout::rows) return store(tensor, rows, firstRowIn(tensor));
  Matrix<T> all = Matrix<T>::Zero(tensor.rows(), rows.cols());
  for (int64_t r = 0; r < map.count(); ++r)
    if (const int64_t to = address(tensor, map, r); to >= 0) all.row(to) = rows.row(r);
  store(tensor, all);
}

template <typename T>
Eigen::Matrix<T, Eigen::Dynamic, 1> StepRun<T>::rowGates() const {
  const Tensor* gates = read(Use::gates);
  if (gates == nullptr) return Eigen::Matrix<T, Eigen::Dynamic, 1>::Ones(identity() ? data(0).rows() : map.count());
  return loadRows(*gates).col(0);
}

template <typename T>
void StepRun<T>::run() {
  switch (step.op) {
#define MOEBLAZE_OP(op, text) \
  case Op::op:                \
    return op();
    MOEBLAZE_OPS(MOEBLAZE_OP)
#undef MOEBLAZE_OP
  }
}

template struct StepRun<float>;
template struct StepRun<double>;

}  // namespace moeblaze::host
