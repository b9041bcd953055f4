#include "kernels/host/step.h"

#include <algorithm>

namespace moeblaze::host {

template <typename T>
const Tensor* StepRun<T>::first(const std::vector<Tensor>& tensors, Use use) {
  const auto found = operandsOf(tensors, use);
  return found.empty() ? nullptr : found.front();
}

template <typename T>
int64_t StepRun<T>::firstRowIn(const Tensor& tensor) const {
  return tensor.rows() == map.count() ? 0 : map.firstRow();
}

namespace {

/// Row of a token-addressed tensor that a routed row goes to or comes from; -1 for padding.
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
    case Op::route:
      return route();
    case Op::routeBackward:
      return routeBackward();
    case Op::sort:
    case Op::buildIndex:
      return index();
    case Op::gather:
      return gather();
    case Op::scatter:
      return scatter();
    case Op::scatterAdd:
      return scatterAdd();
    case Op::scaleRows:
      return scaleRows();
    case Op::reduce:
      return reduce();
    case Op::combine:
      return combine();
    case Op::reduceGradients:
      return reduceGradients();
    case Op::groupedGemm:
    case Op::denseGemm:
      return product();
    case Op::weightGradient:
      return weightGradient();
    case Op::fusedUp:
      return fusedUp();
    case Op::fusedDownBackward:
      return fusedDownBackward();
    case Op::activation:
      return activation();
    case Op::activationBackward:
      return activationBackward();
    case Op::multiply:
      return multiplyElements();
    case Op::multiplyBackward:
      return multiplyBackward();
    case Op::fusedActivation:
      return fusedActivation();
    case Op::fusedActivationBackward:
      return fusedActivationBackward();
    case Op::gateGradient:
      return gateGradient();
    case Op::cast:
      return store(out(0), load(data(0)));
    case Op::add:
      return add();
    case Op::concatenate:
      return concatenate();
    case Op::fill:
      return store(out(0), Matrix<T>::Zero(out(0).rows(), out(0).columns()));
    case Op::release:
      return;
  }
}

template struct StepRun<float>;
template struct StepRun<double>;

}  // namespace moeblaze::host
