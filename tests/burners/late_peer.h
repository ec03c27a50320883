// The other side of a connection on which burn_bound waits.
#pragma once
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "burner.h"

namespace tacho::burner {

// A peer, in a thread of a process of its own, that answers every 200 ms.
inline int connect_to_late_peer() {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(server, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(server, 1) != 0) std::exit(2);
  getsockname(server, reinterpret_cast<sockaddr*>(&address), &size);
  if (fork() == 0) {
    const int peer = accept(server, nullptr, nullptr);
    for (char byte = 0; send(peer, &byte, 1, MSG_NOSIGNAL) == 1; ++byte) sleep_ms(200);
    _exit(0);
  }
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(client, reinterpret_cast<sockaddr*>(&address), size) != 0) std::exit(2);
  close(server);
  return client;
}

// TACHO_PEER: an IPv4 address; its port is 7117.
inline sockaddr_in peer_address() {
  sockaddr_in address{};
  const char* text = getenv("TACHO_PEER");
  address.sin_family = AF_INET;
  address.sin_port = htons(7117);
  if (text == nullptr || inet_pton(AF_INET, text, &address.sin_addr) != 1) std::exit(2);
  return address;
}

inline int connect_to_far_peer() {
  const sockaddr_in address = peer_address();
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  for (int i = 0; i < 50; ++i, sleep_ms(100))
    if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return client;
  std::exit(2);
}

}  // namespace tacho::burner
