// No client holds up another: bounds of time, number and bytes.
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "http/server_test_support.h"

namespace tacho {
namespace {

using namespace served;

TEST(HttpServer, CutsOffSlowClients) {
  ServerOptions options;
  options.head_ms = 100;
  options.body_ms = 100;
  options.idle_ms = 100;
  const auto server = serve(options);
  Raw silent(server->port());
  EXPECT_EQ(silent.read_all(), "");
  Raw head(server->port());
  head.send("GET / HTTP/1.1\r\nHost: x\r\nX: ");
  EXPECT_EQ(head.read_all(), "");
  Raw body(server->port());
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(body.read_all(), "");
  Raw idle(server->port());
  idle.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(idle.read_all().find("/x"), std::string::npos);
}

TEST(HttpServer, TheLongestWaitingConnectionMakesRoom) {
  ServerOptions options;
  options.connections = 2;
  const auto server = serve(options);
  Raw first(server->port()), second(server->port());
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(first.read_some().find("/1"), std::string::npos);
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(second.read_some().find("/2"), std::string::npos);
  Raw third(server->port());
  third.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(third.read_some().find("/3"), std::string::npos);
  EXPECT_EQ(first.read_all(), "") << "the first was idle for longest";
  second.send("GET /2b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(second.read_some().find("/2b"), std::string::npos);
}

TEST(HttpServer, ThoseThatAreAnsweredAreNotCutOffByNewOnes) {
  ServerOptions options;
  options.connections = 2;
  options.workers = 4;
  std::atomic<bool> go = false;
  std::atomic<int> entered = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    entered++;
    while (!go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return echo(request);
  });
  std::vector<std::unique_ptr<Raw>> busy;
  for (int i = 0; i < 4; i++) {  // the limit, one of slack, and one that waits in the kernel's queue
    busy.push_back(std::make_unique<Raw>(server->port()));
    busy.back()->send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    if (i < 3)
      while (entered.load() <= i) std::this_thread::yield();
  }
  go = true;
  for (int i = 0; i < 4; i++)
    EXPECT_NE(busy[static_cast<size_t>(i)]->read_all().find("GET /" + std::to_string(i)), std::string::npos);
}

// The health port of a service, as a probe sees it.
TEST(HttpServer, IdleConnectionsDoNotFailAProbe) {
  ServerOptions options;
  options.connections = 64;
  const auto server = serve(options);
  std::vector<std::unique_ptr<Raw>> idle;
  for (int i = 0; i < 200; i++) {
    idle.push_back(std::make_unique<Raw>(server->port()));
    if (i % 3 == 1) idle.back()->send("GET /half HTTP/1.1\r\nHost: x\r\nX: ");
    if (i % 3 == 2) idle.back()->send("GET /whole HTTP/1.1\r\nHost: x\r\n\r\n");
    if (i % 20 == 19) {
      EXPECT_NE(
          converse(server->port(), "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("/healthz"),
          std::string::npos)
          << i;
    }
  }
}

// A hand shake that is never finished is worth no more than any other idle connection, and ends in its time.
TEST(HttpServer, UnfinishedHandShakesMakeRoomAndEnd) {
  ServerOptions options = with_tls();
  options.connections = 16;
  options.head_ms = 300;
  const auto server = serve(options);
  std::vector<std::unique_ptr<Raw>> half;
  for (int i = 0; i < 40; i++) {
    half.push_back(std::make_unique<Raw>(server->port()));
    half.back()->send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9));
  }
  EXPECT_EQ(curl(server->port(), "", "/x"), "GET /x [] 0 \n");
  for (const auto& one : half) EXPECT_EQ(one->read_all(), "");
}

TEST(HttpServer, ThoseThatNeverReadDoNotFailAProbe) {
  ServerOptions options;
  options.connections = 8;
  const auto server = serve(options);
  std::string requests;
  for (int i = 0; i < 20; i++) requests += "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<std::unique_ptr<Raw>> deaf;
  for (int i = 0; i < 10; i++) {  // the limit and two of slack
    deaf.push_back(std::make_unique<Raw>(server->port()));
    deaf.back()->send(requests);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 0; i < 5; i++)
    EXPECT_NE(
        converse(server->port(), "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("/healthz"),
        std::string::npos);
}

// Half a record: in a head, in a body, and behind a refusal while its last words are read.
TEST(HttpServer, HalfARecordTakesNoTime) {
  ServerOptions options = with_tls();
  options.body_limit = 100'000;
  const auto server = serve(options);
  const std::string much(8'000, 'y');
  Records head(server->port()), body(server->port()), refused(server->port());
  head.raw().send(head.record("GET / HTTP/1.1\r\nHost: x\r\nx: " + much).substr(0, 100));
  body.raw().send(body.record("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n"));
  body.raw().send(body.record(much).substr(0, 100));
  refused.raw().send(refused.record("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n"));
  refused.raw().send(refused.record(much).substr(0, 3));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.3);
}

int64_t resident_kib() {
  const std::string text = shell("awk '/^VmRSS/ {print $2}' /proc/" + std::to_string(::getpid()) + "/status");
  return std::atoll(text.c_str());
}

TEST(HttpServer, PipeliningWithoutReadingMakesOneAnswerAtATime) {
  std::atomic<int> asked = 0;
  const auto server = serve({}, [&](const ServedRequest&) {
    asked++;
    ServedResponse response;
    response.body.assign(4u << 20, 'x');
    return response;
  });
  Raw greedy(server->port());
  std::string requests;
  for (int i = 0; i < 500; i++) requests += "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  greedy.send(requests);
  while (asked.load() == 0) std::this_thread::yield();
  // Others are served, and in all that time the greedy one gets no second answer made.
  for (int i = 0; i < 5; i++)
    EXPECT_EQ(converse(server->port(), "HEAD /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").substr(0, 12),
              "HTTP/1.1 200");
  EXPECT_LE(asked.load(), 5 + 3) << "an answer is made when the one before has been read";
  size_t got = 0;
  while (got < (20u << 20)) {
    const std::string part = greedy.read_some();
    ASSERT_NE(part, "");
    got += part.size();
  }
}

TEST(HttpServer, LargeBodiesAreBoundedTogether) {
  ServerOptions options;
  options.body_limit = 3u << 20;
  options.workers = 8;
  options.handled_bytes = 4u << 20;
  std::atomic<int> large = 0, most_large = 0;
  std::atomic<bool> go = false;
  const auto server = serve(options, [&](const ServedRequest& request) {
    if (request.body.size() < 1000) return echo(request);
    const int now = ++large;
    int seen = most_large.load();
    while (now > seen && !most_large.compare_exchange_weak(seen, now)) {}
    while (!go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    large--;
    return echo(request);
  });
  const int64_t before_kib = resident_kib();
  const std::string body(3u << 20, 'x');
  const std::string head =
      "POST /l HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  std::vector<std::string> answers(30);
  std::vector<std::thread> senders;
  for (std::string& answer : answers) senders.emplace_back([&] { answer = converse(server->port(), head + body); });
  // Sixteen are taken, one of them is worked on; more are told to come back. Small ones pass by.
  while (large.load() == 0) std::this_thread::yield();
  for (int i = 0; i < 20; i++)
    EXPECT_NE(
        converse(server->port(), "POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab").find("POST /s [] 2"),
        std::string::npos);
  go = true;
  for (std::thread& sender : senders) sender.join();
  int good = 0, later = 0;
  for (const std::string& answer : answers) {
    good += answer.starts_with("HTTP/1.1 200") ? 1 : 0;
    later += answer.starts_with("HTTP/1.1 503") ? 1 : 0;
  }
  EXPECT_GE(good, 1);
  EXPECT_EQ(good + later, 30);
  EXPECT_GE(later, 1);
  EXPECT_EQ(most_large.load(), 1) << "4 MiB are worked on at a time";
#ifndef TACHO_SANITIZED
  EXPECT_LT(resident_kib() - before_kib, 240 << 10) << "the senders hold 90 MiB themselves, and their sockets";
#else
  (void)before_kib;
#endif
}

// Uploads that stand still hold all the room for large bodies; whoever comes in well does not wait until their time is
// up.
TEST(HttpServer, SlowUploadsMakeRoomForANewcomer) {
  ServerOptions options;
  options.threads = 2;
  options.body_limit = 1u << 20;
  options.body_ms = 600'000;
  const auto server = serve(options);
  const std::string head = "POST /l HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ";
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 16; i++) {
    slow.push_back(std::make_unique<Raw>(server->port()));
    slow.back()->send(head + "1048576\r\n\r\n" + std::string((1u << 20) - 1, 'x'));
  }
  const std::string review = head + "200000\r\n\r\n" + std::string(200'000, 'r');
  // Told to come back only for the moment in which those may still be on their way; not for ten minutes.
  std::string answer;
  for (int tries = 0; tries < 200 && !answer.starts_with("HTTP/1.1 200"); tries++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    answer = converse(server->port(), review);
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  for (int i = 0; i < 8; i++) EXPECT_TRUE(converse(server->port(), review).starts_with("HTTP/1.1 200"));
  int good = 0, gone = 0;
  for (const auto& raw : slow) {
    raw->send("x");
    const std::string end = raw->read_all();
    good += end.starts_with("HTTP/1.1 200");
    gone += end.starts_with("HTTP/1.1 503");
  }
  EXPECT_GE(gone, 1);
  EXPECT_LE(gone, 2) << "no more than had to";
  EXPECT_EQ(good + gone, 16);
}

}  // namespace
}  // namespace tacho
