#include "worker/definitions.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {
namespace {

constexpr size_t kMaxNameBytes = 200;

}  // namespace

struct Definitions::Impl {
  std::shared_ptr<DefinitionList> list = std::make_shared<DefinitionList>();
  std::atomic<bool> frozen = false;

  template <typename Definition>
  void Add(const char* kind, std::vector<Definition>& all,
           Definition definition) {
    const std::string& name = definition.info->name;
    if (frozen) {
      throw Error(ErrorCode::kFailedPrecondition,
                  absl::StrCat(kind, " '", name,
                               "' is defined too late: define everything "
                               "before Run, in every task"));
    }
    if (name.empty() || name.size() > kMaxNameBytes) {
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("the name of a ", kind, " has 1 to ",
                               kMaxNameBytes, " bytes, not ", name.size()));
    }
    for (const Definition& known : all) {
      if (known.info->name == name) {
        throw Error(ErrorCode::kAlreadyExists,
                    absl::StrCat("there is a ", kind, " '", name, "' already"));
      }
    }
    all.push_back(std::move(definition));
  }
};

Definitions::Definitions() : impl_(std::make_shared<Impl>()) {}
Definitions::~Definitions() = default;
Definitions::Definitions(const Definitions&) = default;
Definitions& Definitions::operator=(const Definitions&) = default;

void Definitions::Add(FunctionDefinition definition) {
  impl_->Add("function", impl_->list->functions, std::move(definition));
}

void Definitions::Add(ResourceDefinition definition) {
  impl_->Add("resource", impl_->list->resources, std::move(definition));
}

void Definitions::SetEvaluator(EvaluatorBody body) {
  if (impl_->frozen) {
    throw Error(ErrorCode::kFailedPrecondition,
                "the evaluator is defined too late: define everything before "
                "Run, in every task");
  }
  if (impl_->list->evaluator != nullptr) {
    throw Error(ErrorCode::kAlreadyExists, "there is an evaluator already");
  }
  impl_->list->evaluator = std::move(body);
}

ProgramDefinitions Describe(const DefinitionList& list) {
  std::vector<FunctionInfo> functions;
  for (const FunctionDefinition& one : list.functions) {
    functions.push_back(*one.info);
  }
  std::vector<ResourceInfo> resources;
  for (const ResourceDefinition& one : list.resources) {
    resources.push_back(*one.info);
  }
  return DescribeDefinitions(functions, resources);
}

std::shared_ptr<const DefinitionList> DefinitionsReader::Freeze(
    const Definitions& definitions) {
  definitions.impl_->frozen = true;
  return definitions.impl_->list;
}

}  // namespace capstan
