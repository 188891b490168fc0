#include "client/by_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/parameter_job.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::StatusIs;

class ByNameTest : public ::testing::Test {
 protected:
  ByNameTest() : job_({.servers = 2}) {
    VariableSpec table;
    table.name = "table";
    table.shape = {4, 2};
    VariableSpec scalar;
    scalar.name = "scalar";
    scalar.dtype = DType::kI64;
    EXPECT_OK(job_.Create({table, scalar}, FixedShards(2)));
  }

  absl::StatusOr<std::vector<Tensor>> Read(std::vector<std::string> names) {
    ParameterClient& client = job_.chief();
    return job_.Run(client, ReadByName(client, std::move(names), {}));
  }
  absl::StatusOr<Tensor> ReadRows(std::string name, std::vector<int64_t> ids) {
    ParameterClient& client = job_.chief();
    return job_.Run(
        client, ReadRowsByName(client, std::move(name), std::move(ids), {}));
  }
  absl::StatusOr<UpdateResult> Update(std::vector<VariableUpdate> updates,
                                      Operation operation = Operation::kAdd) {
    ParameterClient& client = job_.chief();
    return job_.Run(client, UpdateByName(client, job_.NextStep(), operation,
                                         std::move(updates), {}));
  }

  ParameterJob job_;
};

Tensor Table(float first) {
  return Tensor::FromValues(
      {4, 2}, {first, first + 1, first + 2, first + 3, first + 4, first + 5,
               first + 6, first + 7});
}

TEST_F(ByNameTest, WhatIsWrittenIsRead) {
  const absl::StatusOr<UpdateResult> result =
      Update({{"table", Table(0)}, {"scalar", Tensor::Scalar(int64_t{7})}});
  ASSERT_OK(result);
  EXPECT_EQ(result->applied, 3u);
  const absl::StatusOr<std::vector<Tensor>> read = Read({"scalar", "table"});
  ASSERT_OK(read);
  EXPECT_THAT(*read, ElementsAre(Tensor::Scalar(int64_t{7}), Table(0)));
}

TEST_F(ByNameTest, RowsAreWrittenAndRead) {
  const Tensor ids = Tensor::FromValues({2}, {int64_t{3}, int64_t{0}});
  ASSERT_OK(
      Update({{"table", Tensor::FromValues({2, 2}, {1.F, 2.F, 3.F, 4.F}), ids},
              {"scalar", Tensor::Scalar(int64_t{1})}}));
  const absl::StatusOr<Tensor> rows = ReadRows("table", {0, 1, 3});
  ASSERT_OK(rows);
  EXPECT_EQ(*rows, Tensor::FromValues({3, 2}, {3.F, 4.F, 0.F, 0.F, 1.F, 2.F}));
}

TEST_F(ByNameTest, NothingIsReadAndWrittenWithoutNames) {
  const absl::StatusOr<std::vector<Tensor>> read = Read({});
  ASSERT_OK(read);
  EXPECT_TRUE(read->empty());
  const absl::StatusOr<Tensor> rows = ReadRows("table", {});
  ASSERT_OK(rows);
  EXPECT_EQ(rows->shape(), Shape({0, 2}));
}

TEST_F(ByNameTest, AnUnknownNameIsNamed) {
  const auto unknown =
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("'tabel'"));
  EXPECT_THAT(Read({"table", "tabel"}), unknown);
  EXPECT_THAT(ReadRows("tabel", {0}), unknown);
  EXPECT_THAT(Update({{"table", Table(0)}, {"tabel", Table(0)}}), unknown);
  const absl::StatusOr<std::vector<Tensor>> read = Read({"table"});
  ASSERT_OK(read);
  EXPECT_EQ(read->front(), Tensor::Zeros(DType::kF32, {4, 2}));
}

// A client that does not know a variable yet asks the servers for it.
TEST_F(ByNameTest, AVariableThatIsNewIsFound) {
  ParameterClient& worker = job_.NewClient();
  const auto read = [&](const std::string& name) {
    std::vector<std::string> names = {name};
    return job_.Run(worker, ReadByName(worker, std::move(names), {}));
  };
  ASSERT_OK(read("table"));
  VariableSpec late;
  late.name = "late";
  late.shape = {1};
  ASSERT_OK(job_.Create({late}));
  ASSERT_OK(read("late"));
}

// The client knows an earlier variable of that name.
TEST_F(ByNameTest, AVariableThatWasMadeAnewIsFound) {
  ParameterClient& worker = job_.NewClient();
  const auto read = [&] {
    std::vector<std::string> names = {"table"};
    return job_.Run(worker, ReadByName(worker, std::move(names), {}));
  };
  const auto make_anew = [&] {
    ASSERT_OK(job_.Drop({"table"}));
    VariableSpec table;
    table.name = "table";
    table.shape = {3};
    table.initializer = Ones{};
    ASSERT_OK(job_.Create({table}));
  };
  ASSERT_OK(read());
  make_anew();
  const absl::StatusOr<std::vector<Tensor>> whole = read();
  ASSERT_OK(whole);
  EXPECT_EQ(whole->front(), Tensor::FromValues({3}, {1.F, 1.F, 1.F}));
  make_anew();
  std::vector<int64_t> ids = {2};
  ASSERT_OK(
      job_.Run(worker, ReadRowsByName(worker, "table", std::move(ids), {})));
  make_anew();
  std::vector<VariableUpdate> updates = {
      {"table", Tensor::FromValues({3}, {1.F, 2.F, 3.F})}};
  ASSERT_OK(
      job_.Run(worker, UpdateByName(worker, job_.NextStep(), Operation::kAdd,
                                    std::move(updates), {})));
  const absl::StatusOr<std::vector<Tensor>> after = read();
  ASSERT_OK(after);
  EXPECT_EQ(after->front(), Tensor::FromValues({3}, {2.F, 3.F, 4.F}));
}

TEST_F(ByNameTest, ValuesOfAnotherShapeAreRefused) {
  const auto refused = [&](VariableUpdate update, const std::string& why) {
    EXPECT_THAT(
        Update({{"scalar", Tensor::Scalar(int64_t{1})}, std::move(update)}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("'table'"), HasSubstr(why))));
  };
  const Tensor two = Tensor::Zeros(DType::kI64, {2});
  refused({"table", Tensor::Zeros(DType::kF32, {8})}, "shape [8]");
  refused({"table", Tensor::Zeros(DType::kF32, {2, 4})}, "shape [2, 4]");
  refused({"table", Tensor::Zeros(DType::kF32, {4, 2}), two}, "for 2 rows");
  refused({"table", Tensor::Zeros(DType::kF32, {2, 2}),
           Tensor::Zeros(DType::kI32, {2})},
          "ids of type i32");
  refused({"table", Tensor::Zeros(DType::kF32, {2, 2}),
           Tensor::Zeros(DType::kI64, {2, 1})},
          "i64 of rank 1");
  EXPECT_THAT(Update({{"scalar", Tensor::Zeros(DType::kI64, {2}), two}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the variable has shape []")));
  // An update is refused as a whole.
  const absl::StatusOr<std::vector<Tensor>> read = Read({"scalar"});
  ASSERT_OK(read);
  EXPECT_EQ(read->front(), Tensor::Scalar(int64_t{0}));
}

}  // namespace
}  // namespace capstan
