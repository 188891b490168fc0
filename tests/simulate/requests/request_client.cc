#include "simulate/requests/request_client.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/async/cancellation.h"
#include "base/async/waiter.h"
#include "simulate/cluster.h"
#include "simulate/faulty_channel.h"
#include "transport/peer_channel.h"

namespace capstan::simulate {
namespace {

// One life of a client. Shared by its coroutines.
struct Client {
  Client(RequestContext& context_in, SimNode& node_in)
      : context(context_in), node(node_in), idle(node_in.executor()) {}

  RequestContext& context;
  SimNode& node;
  std::vector<std::unique_ptr<Channel>> channels;
  int callers = 0;
  Waiter idle;  // the main coroutine, waiting for the callers to end
};

// A request in the caller's memory, and space for its answer.
struct Message {
  explicit Message(const RequestPlan& plan);

  std::vector<std::byte> memory;
  std::vector<Bytes> attachments;
  std::vector<std::byte> room;
  std::vector<MutableBytes> places;
};

size_t Total(const std::vector<size_t>& sizes) {
  size_t total = 0;
  for (const size_t size : sizes) total += size;
  return total;
}

Message::Message(const RequestPlan& plan)
    : memory(Total(plan.attachments)), room(Total(plan.reply_attachments)) {
  MutableBytes left(memory);
  for (size_t i = 0; i < plan.attachments.size(); ++i) {
    const MutableBytes bytes = left.first(plan.attachments[i]);
    left = left.subspan(bytes.size());
    FillPattern(plan.token, kRequestPart + i, bytes);
    attachments.push_back(bytes);
  }
  left = room;
  for (const size_t size : plan.reply_attachments) {
    places.push_back(left.first(size));
    left = left.subspan(size);
  }
  if (!plan.too_little_room) return;
  for (MutableBytes& place : places) {
    if (place.empty()) continue;
    place = place.first(place.size() - 1);
    break;
  }
}

ChannelOptions DrawOptions(SimNode& node, size_t client, size_t server) {
  Random random = node.NewRandom("channel options").Fork(server);
  ChannelOptions options;
  options.self = HelloOf(node, "client", client);
  options.address = ServerAddress(server);
  options.expected_task = "server/" + std::to_string(server);
  // Sometimes so small that calls wait for one another.
  options.bytes_in_flight = static_cast<uint64_t>(
      random.Chance(0.3) ? random.Between(1000, 200'000)
                         : random.Between(1 << 20, 256 << 20));
  options.connect_timeout = std::chrono::seconds(2);
  options.backoff.max = std::chrono::seconds(1);
  return options;
}

Task<> CancelLater(std::shared_ptr<Client> client,
                   std::shared_ptr<Cancellation> cancellation, uint64_t token,
                   Duration after) {
  std::unique_ptr<Timer> timer =
      client->node.clock().NewTimer(client->node.executor());
  const MonotonicTime time = client->node.clock().Now() + after;
  co_await timer->SleepUntil(time);
  client->context.judge.OnCancel(token);
  cancellation->Cancel();
}

CallOptions OptionsFor(const RequestPlan& plan, const Message& message,
                       Cancellation* cancellation) {
  CallOptions options;
  // As a total limit, because the judge checks it as one.
  options.timeout = options.limit = plan.timeout;
  options.cancellation = cancellation;
  if (plan.in_place) {
    options.receive_into = message.places;
  } else {
    options.reply_limit = Total(plan.reply_attachments);
    if (plan.too_little_room) --options.reply_limit;
  }
  return options;
}

// Sends one request and has its answer judged. True if the server answered.
Task<bool> CallOnce(std::shared_ptr<Client> client, size_t server,
                    bool patient) {
  RequestContext& context = client->context;
  const uint64_t token = context.judge.OnSend(client->node, server);
  RequestPlan plan = context.planner.Plan(token);
  if (patient) {
    plan.cancel_after.reset();
    plan.timeout = std::chrono::seconds(5);
  }
  Message message(plan);
  auto cancellation = std::make_shared<Cancellation>();
  CallOptions options = OptionsFor(plan, message, cancellation.get());
  if (plan.cancel_after) {
    Spawn(client->node.executor(),
          CancelLater(client, cancellation, token, *plan.cancel_after));
  }
  std::string body = MakeBody(token, kRequestBody, plan.body_bytes);
  std::vector<Bytes> attachments = message.attachments;
  Channel& channel = *client->channels[server];
  absl::StatusOr<Reply> reply =
      co_await channel.Call(Method::kProbeEcho, std::move(body),
                            std::move(attachments), std::move(options));
  context.judge.OnResult(client->node, plan, reply, message.places);
  context.judge.Bury(token, std::move(message.memory));
  context.judge.Bury(token, std::move(message.room));
  co_return reply.ok() || reply.status().code() == plan.error ||
      plan.too_little_room;
}

Task<> RunCaller(std::shared_ptr<Client> client, Random random) {
  RequestContext& context = client->context;
  std::unique_ptr<Timer> timer =
      client->node.clock().NewTimer(client->node.executor());
  while (context.phase == Phase::kLoad) {
    const size_t server = random.Below(client->channels.size());
    bool answered = co_await CallOnce(client, server, false);
    // A request that may have been lost is resent, as a program would do.
    if (!answered && random.Chance(0.5) && context.phase == Phase::kLoad) {
      ++context.judge.tally().retries;
      answered = co_await CallOnce(client, server, false);
    }
    const MonotonicTime next =
        client->node.clock().Now() +
        Duration(random.Between(0, context.options.pause.count()));
    co_await timer->SleepUntil(next);
  }
  if (--client->callers == 0) client->idle.Wake();
}

// Calls a server until it answers.
Task<> Prove(std::shared_ptr<Client> client, size_t server) {
  std::unique_ptr<Timer> timer =
      client->node.clock().NewTimer(client->node.executor());
  bool answered = false;
  while (!answered) {
    answered = co_await CallOnce(client, server, true);
    if (answered) break;
    const MonotonicTime next =
        client->node.clock().Now() + std::chrono::milliseconds(20);
    co_await timer->SleepUntil(next);
  }
}

}  // namespace

Task<> RunRequestClient(RequestContext& context, SimNode& node,
                        Network& network, size_t index, bool& done) {
  auto client = std::make_shared<Client>(context, node);
  const Executor executor = node.executor();
  const auto servers = static_cast<size_t>(context.options.servers);
  for (size_t i = 0; i < servers; ++i) {
    Random random = node.NewRandom("channel").Fork(i);
    std::unique_ptr<Channel> channel =
        NewPeerChannel(node.clock(), network, node.logger(), random, executor,
                       DrawOptions(node, index, i));
    client->channels.push_back(
        NewFaultyChannel(std::move(channel), context.plant, node));
  }
  client->callers = context.options.callers;
  for (int i = 0; i < context.options.callers; ++i) {
    Random random = node.NewRandom("caller").Fork(static_cast<uint64_t>(i));
    Spawn(executor, RunCaller(client, random));
  }
  while (client->callers > 0) co_await client->idle.Sleep();
  for (size_t i = 0; i < servers; ++i) co_await Prove(client, i);
  for (size_t i = 0; i < servers; ++i) co_await client->channels[i]->Close();
  done = true;
}

}  // namespace capstan::simulate
