#pragma once

#include "kernels/cuda/run/context.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

// One function for each kind of Step, in the file of its name. Operands are the Plan's; what each reads and writes is
// told beside its Op.

// index_ops.cu
void sortIndex(const BoundStep& step, Context& context);
void buildIndex(const BoundStep& step, Context& context);

// row_ops.cu
void moveRows(const BoundStep& step, Context& context);  ///< gather, scatter, scaleRows
void gateGradient(const BoundStep& step, Context& context);

// token_ops.cu
void sumToTokens(const BoundStep& step, Context& context);  ///< scatterAdd, reduce, combine, reduceGradients

// elementwise.cu
void elementwise(const BoundStep& step, Context& context);

// router.cu
void route(const BoundStep& step, Context& context);
void routeBackward(const BoundStep& step, Context& context);

// router_products.cu: of mixed dtypes
void routerProduct(const BoundStep& step, Context& context);

// library_products.cpp: cuBLAS, one product an expert
void libraryProduct(const BoundStep& step, Context& context);
void libraryWeightGradient(const BoundStep& step, Context& context);

// fused_*.cu: tensor-core kernels that read rows through the index structures
void fusedUp(const BoundStep& step, Context& context);
void fusedDownBackward(const BoundStep& step, Context& context);
void fusedProduct(const BoundStep& step, Context& context);
void fusedWeightGradient(const BoundStep& step, Context& context);

}  // namespace moeblaze::cuda
