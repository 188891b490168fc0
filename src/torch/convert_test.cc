#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/torch.h"
#include "torch/dtype.h"

namespace capstan {
namespace {

TEST(ConvertTest, TheMemoryIsTheSame) {
  Tensor ours = Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4});
  const torch::Tensor theirs = ToTorch(ours);
  ours.MutableValues<float>()[3] = 7;
  EXPECT_EQ(theirs[1][1].item<float>(), 7);
  const Tensor back = FromTorch(theirs);
  EXPECT_EQ(back.view().bytes().data(), ours.view().bytes().data());
  EXPECT_EQ(back, ours);
}

TEST(ConvertTest, EitherKeepsItAlive) {
  torch::Tensor theirs;
  {
    const Tensor ours = Tensor::FromValues<int64_t>({3}, {1, 2, 3});
    theirs = ToTorch(ours);
  }
  EXPECT_EQ(theirs.sum().item<int64_t>(), 6);
  Tensor ours;
  { ours = FromTorch(torch::arange(1000)); }
  EXPECT_EQ(ours.Values<int64_t>()[999], 999);
}

TEST(ConvertTest, WhatIsNotContiguousIsCopied) {
  const torch::Tensor matrix = torch::arange(6).reshape({2, 3});
  const Tensor ours = FromTorch(matrix.t());
  EXPECT_EQ(ours, Tensor::FromValues<int64_t>({3, 2}, {0, 3, 1, 4, 2, 5}));
}

TEST(ConvertTest, EveryType) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32,
        DType::kI64, DType::kU8, DType::kBool}) {
    const Tensor ours = Tensor::Zeros(dtype, {2});
    EXPECT_EQ(FromTorch(ToTorch(ours)), ours);
    EXPECT_EQ(FromTorch(ToTorch(Tensor::Zeros(dtype, {0, 3}))),
              Tensor::Zeros(dtype, {0, 3}));
    EXPECT_EQ(FromTorch(ToTorch(Tensor::Zeros(dtype, {}))),
              Tensor::Zeros(dtype, {}));
  }
  EXPECT_THROW(FromTorch(torch::zeros({1}, torch::kComplexFloat)), Error);
}

}  // namespace
}  // namespace capstan
