#include "os/listening_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace tacho {
namespace {

// Three servers of one program: each had raised the limit for itself alone, so that full ones left no descriptor.
TEST(ReservedDescriptors, AddUp) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  if (usual.rlim_max < 2'000) GTEST_SKIP() << "the hard limit is too low";
  const rlimit little{256, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &little), 0);
  rlimit now{};
  {
    const ReservedDescriptors one(300), two(200);
    EXPECT_EQ(one.count(), 300);
    EXPECT_EQ(two.count(), 200);
    ::getrlimit(RLIMIT_NOFILE, &now);
    EXPECT_GT(now.rlim_cur, 500u);
  }
  const ReservedDescriptors again(100);
  EXPECT_EQ(again.count(), 100);
  rlimit then{};
  ::getrlimit(RLIMIT_NOFILE, &then);
  EXPECT_EQ(then.rlim_cur, now.rlim_cur) << "what was given back is used first";
  ::setrlimit(RLIMIT_NOFILE, &usual);
}

TEST(ListenOn, AnyPortAndATakenOne) {
  const auto any = listen_on("127.0.0.1", 0);
  ASSERT_TRUE(any) << any.error().message();
  EXPECT_NE(any->port, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(any->port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const Fd server(::accept4(any->fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(server);
  int at_once = 0;
  socklen_t size = sizeof at_once;
  ::getsockopt(server.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, &size);
  EXPECT_EQ(at_once, 1) << "a small answer does not wait for an acknowledgement";
  const auto taken = listen_on("127.0.0.1", any->port);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message().find("choose another port"), std::string::npos);
  EXPECT_TRUE(listen_on("[::]", 0));
  EXPECT_FALSE(listen_on("localhost", 0)) << "no number";
}

}  // namespace
}  // namespace tacho
