#include "kernels/host/step.h"

namespace moeblaze::host {

template <typename T>
void StepRun<T>::gather() {
  Matrix<T> rows = loadRows(data(0));
  rows.array().colwise() *= rowGates().array();
  storeRows(out(0), rows);
}

template <typename T>
void StepRun<T>::scatter() {
  gather();  // loadRows and storeRows follow the layouts, whichever way the rows go
}

template <typename T>
void StepRun<T>::scatterAdd() {
  Matrix<T> sum = dataCount() > 1 ? load(data(1)) : Matrix<T>::Zero(out(0).rows(), out(0).columns());
  const Matrix<T> rows = loadRows(data(0));
  for (int64_t r = 0; r < map.count(); ++r)
    if (map.token(r) >= 0) sum.row(map.token(r)) += rows.row(r);
  store(out(0), sum);
}

template <typename T>
void StepRun<T>::scaleRows() {
  Matrix<T> rows = loadRows(data(0));
  if (read(Use::gates) != nullptr) {
    rows.array().colwise() *= rowGates().array();
  } else {
    rows.array().colwise() *= load(data(1)).col(0).array();
  }
  storeRows(out(0), rows);
}

template <typename T>
void StepRun<T>::reduce() {
  const Matrix<T> slots = load(data(0));
  const bool choiceMajor = data(0).buffer->layout == Layout::choiceSlots;
  const int64_t tokens = out(0).rows(), topK = plan.config.topK;
  Matrix<T> sum = Matrix<T>::Zero(tokens, slots.cols());
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t j = 0; j < topK; ++j) sum.row(t) += slots.row(choiceMajor ? j * tokens + t : t * topK + j);
  store(out(0), sum);
}

template <typename T>
void StepRun<T>::combine() {
  const Matrix<T> rows = loadRows(data(0));
  const auto gates = rowGates();
  Matrix<T> sum = Matrix<T>::Zero(out(0).rows(), rows.cols());
  for (int64_t r = 0; r < rows.rows(); ++r) {
    // Without an index structure the rows are the slots themselves.
    const int64_t token = identity() ? r / plan.config.topK : map.token(r);
    if (token >= 0) sum.row(token) += gates(r) * rows.row(r);
  }
  store(out(0), sum);
}

template <typename T>
void StepRun<T>::reduceGradients() {
  const Matrix<T> rows = loadRows(data(0));
  Matrix<T> sum = dataCount() > 1 ? load(data(1)) : Matrix<T>::Zero(out(0).rows(), rows.cols());
  for (int64_t r = 0; r < map.count(); ++r)
    if (map.token(r) >= 0) sum.row(map.token(r)) += rows.row(r);
  store(out(0), sum);
  storeRows(out(1), loadRows(*read(Use::parts)).rowwise().sum());
}

template <typename T>
void StepRun<T>::cast() {
  store(out(0), load(data(0)));
}

template <typename T>
void StepRun<T>::fill() {
  store(out(0), Matrix<T>::Zero(out(0).rows(), out(0).columns()));
}

template <typename T>
void StepRun<T>::release() {}

template <typename T>
void StepRun<T>::add() {
  store(out(0), load(data(0)) + load(data(1)));
}

template <typename T>
void StepRun<T>::concatenate() {
  Matrix<T> joined(out(0).rows(), out(0).columns());
  int64_t column = 0;
  for (size_t i = 0; i < dataCount(); ++i) {
    const Matrix<T> part = load(data(i));
    joined.middleCols(column, part.cols()) = part;
    column += part.cols();
  }
  store(out(0), joined);
}

template <typename T>
void StepRun<T>::gateGradient() {
  const auto product = weights();
  const bool slots = identity() && data(0).buffer->layout == Layout::slots;
  Matrix<T> first = slots ? load(data(0)) : loadRows(data(0));
  if (!product.empty()) first = timesWeight(first, *product.front(), false);
  if (dataCount() > 1) {
    if (slots) {
      const Matrix<T> tokens = load(data(1));
      for (int64_t s = 0; s < first.rows(); ++s) first.row(s).array() *= tokens.row(s / plan.config.topK).array();
    } else {
      first.array() *= loadRows(data(1)).array();
    }
  }
  const Tensor* parts = written(Use::parts);
  storeRows(parts != nullptr ? *parts : out(0), first.rowwise().sum());
}

#define INSTANTIATE(T)                         \
  template void StepRun<T>::gather();          \
  template void StepRun<T>::scatter();         \
  template void StepRun<T>::scatterAdd();      \
  template void StepRun<T>::scaleRows();       \
  template void StepRun<T>::reduce();          \
  template void StepRun<T>::combine();         \
  template void StepRun<T>::reduceGradients(); \
  template void StepRun<T>::cast();            \
  template void StepRun<T>::fill();            \
  template void StepRun<T>::release();         \
  template void StepRun<T>::add();             \
  template void StepRun<T>::concatenate();     \
  template void StepRun<T>::gateGradient();
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace moeblaze::host
