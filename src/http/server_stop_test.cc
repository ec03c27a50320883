// Slow handlers, and the server's end.
#include <atomic>
#include <chrono>
#include <thread>

#include "http/server_test_support.h"

namespace tacho {
namespace {

using namespace served;

TEST(HttpServer, SlowHandlersDoNotHoldOthersUp) {
  ServerOptions options = with_tls();
  options.workers = 4;
  std::atomic<int> running = 0, most = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    const int now = ++running;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {}
    ServedResponse response = echo(request);
    running--;
    return response;
  });
  const std::string out = curl(server->port(), "-Z --no-progress-meter -o /dev/null -w '%{http_code} '", "/slow?[1-4]");
  EXPECT_EQ(out, "200 200 200 200 ");
  EXPECT_GT(most.load(), 1) << "several requests run at a time";
}

TEST(HttpServer, FinishesWhatRunsWhenItStops) {
  ServerOptions options = with_tls();
  options.workers = 2;
  std::atomic<int> entered = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    entered++;
    return echo(request);
  });
  std::string answer;
  std::thread client([&] { answer = curl(server->port(), "-i", "/slow"); });
  while (entered.load() == 0) std::this_thread::yield();
  server->stop(10'000);
  client.join();
  EXPECT_NE(answer.find("GET /slow [] 0 \n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("connection: close"), std::string::npos) << answer;
  EXPECT_NE(curl(server->port(), "").find("curl: (7)"), std::string::npos) << "nobody listens any more";
}

// Whoever has connected, or has sent its request, before the stop is answered: in the kernel's queue, on an idle
// connection, or in the middle of a body.
TEST(HttpServer, AnswersWhatHadArrivedWhenItStops) {
  ServerOptions options;
  options.threads = 2;
  std::atomic<bool> go = false;
  std::atomic<int> entered = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    entered++;
    while (request.path == "/wait" && !go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return echo(request);
  });
  Raw kept(server->port());
  kept.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(kept.read_some().find("/first"), std::string::npos);
  Raw half(server->port());
  half.send("POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  // Both loops are held up by their handlers, so that what follows stays where it is.
  Raw holder(server->port()), holder2(server->port());
  holder.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  holder2.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  while (entered.load() < 3) std::this_thread::yield();
  kept.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
  Raw queued(server->port());
  queued.send("GET /queued HTTP/1.1\r\nHost: x\r\n\r\n");
  std::thread stopper([&] { server->stop(20'000); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go = true;
  half.send("cd");
  EXPECT_NE(kept.read_all().find("/second"), std::string::npos);
  EXPECT_NE(queued.read_all().find("/queued"), std::string::npos);
  const std::string late = half.read_all();
  EXPECT_NE(late.find("POST /half [] 4"), std::string::npos);
  EXPECT_NE(late.find("connection: close"), std::string::npos);
  EXPECT_NE(holder.read_all().find("/wait"), std::string::npos);
  stopper.join();
}

TEST(HttpServer, AnswersARequestOfWhichHalfARecordIsThereWhenItStops) {
  ServerOptions options = with_tls();
  options.workers = 2;
  const auto server = serve(options);
  Records half(server->port()), idle(server->port());
  const std::string record = half.record("GET /half HTTP/1.1\r\nHost: x\r\n\r\n");
  half.raw().send(record.substr(0, 10));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread stopper([&] { server->stop(20'000); });
  EXPECT_EQ(idle.read_all(), "") << "idle ones end at once";
  half.raw().send(record.substr(10));
  const std::string answer = half.read_all();
  EXPECT_NE(answer.find("GET /half"), std::string::npos) << answer;
  EXPECT_NE(answer.find("connection: close"), std::string::npos) << answer;
  stopper.join();
}

TEST(HttpServer, AnnouncesItsEnd) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(raw.read_some().find("connection: close"), std::string::npos);
  server->announce_stop();
  raw.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string last = raw.read_all();
  EXPECT_NE(last.find("/2"), std::string::npos);
  EXPECT_NE(last.find("connection: close"), std::string::npos);
  EXPECT_NE(converse(server->port(), "GET /3 HTTP/1.1\r\nHost: x\r\n\r\n").find("/3"), std::string::npos)
      << "new ones are still taken";
}

// A client that never reads its answer, and one that does not end its requests, are let go when the time is up.
TEST(HttpServer, StopsInItsTimeWhateverClientsDo) {
  ServerOptions options;
  const auto server = serve(options);
  Raw deaf(server->port()), slow(server->port());
  deaf.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\nGET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  server->stop(200);
  EXPECT_EQ(slow.read_all(), "");
}

TEST(HttpServer, StopsAtOnceWithIdleClients) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(raw.read_some(), "");
  std::thread stopper([&] { server->stop(60'000); });
  stopper.join();
  EXPECT_EQ(raw.read_all(), "");
}

}  // namespace
}  // namespace tacho
