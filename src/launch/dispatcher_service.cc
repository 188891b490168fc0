#include "launch/dispatcher_service.h"

#include <asio/post.hpp>
#include <utility>
#include <vector>

#include "base/async/run_on.h"
#include "launch/server_channels.h"

namespace capstan {
DispatcherService::DispatcherService(
    TaskHost& host, std::shared_ptr<const ProgramDefinitions> definitions,
    std::function<const Roster&()> roster, Service& next)
    : host_(host),
      definitions_(std::move(definitions)),
      roster_(std::move(roster)),
      next_(next) {}

DispatcherService::~DispatcherService() = default;

absl::StatusOr<std::shared_ptr<CoordinatorMaker::Impl>> DispatcherService::Open(
    const CoordinatorOptions& options) {
  absl::StatusOr<DispatcherOptions> checked =
      CoordinatorMaker::CheckOptions(options);
  if (!checked.ok()) return checked.status();
  const std::lock_guard lock(opening_);
  if (front_ != nullptr) return front_;
  callbacks_ = std::make_unique<IoThread>();
  checked->run_callback =
      [executor = callbacks_->executor()](std::function<void()> callback) {
        asio::post(executor, std::move(callback));
      };
  checked->definitions = definitions_;
  checked->begin_without_servers = !host_.options().checkpoint_root.empty();
  CallOn(host_.executor(), [&] { Make(*checked); });
  front_ =
      std::make_shared<CoordinatorMaker::Impl>(host_.executor(), *dispatcher_);
  front_->checkpoint_root = host_.options().checkpoint_root;
  return front_;
}

void DispatcherService::Make(const DispatcherOptions& options) {
  client_ = NewParameterClient(host_);
  const auto new_channel = [this](const std::string& task,
                                  const std::string& address) {
    return host_.NewUnboundedChannel(task, address);
  };
  dispatcher_ = std::make_unique<Dispatcher>(
      host_.clock(), host_.logger(), host_.executor(),
      [this] { return roster_().coordinator_term(); }, *client_, new_channel,
      Random::FromOs(), options);
  dispatcher_->Start();
  const JobReport report = roster_().Report();
  for (const TaskEntry& entry : report.tasks) dispatcher_->OnTask(entry);
}

void DispatcherService::OnTask(const TaskEntry& entry) {
  if (dispatcher_ != nullptr) dispatcher_->OnTask(entry);
}

void DispatcherService::Close() {
  const std::lock_guard lock(opening_);
  if (front_ == nullptr) return;
  RunOn(host_.executor(), dispatcher_->Stop());
  // Run callbacks that already have their values; stopping the thread drops
  // them.
  CallOn(callbacks_->executor(), [] {});
  callbacks_ = nullptr;
  CallOn(host_.executor(), [this] {
    dispatcher_ = nullptr;
    client_ = nullptr;
  });
  front_ = nullptr;
}

Task<ServerReply> DispatcherService::Serve(ServerCall& call) {
  if (call.method() != Method::kDispatchStatus) return next_.Serve(call);
  return Answer();
}

Task<ServerReply> DispatcherService::Answer() {
  ServerReply reply;
  reply.body = EncodeDispatchReport(
      dispatcher_ == nullptr ? DispatchReport() : dispatcher_->Report());
  co_return reply;
}

}  // namespace capstan
