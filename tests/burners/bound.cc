// burn_bound KIND SECONDS [FOLDER]: bound by exactly one thing for SECONDS of wall time.
//   cores    as many busy threads as there are CPUs      one      one busy thread
//   crowd    four busy threads for each CPU              sleep    a thread that sleeps
//   fsync    small writes, each to the disk              direct   large reads past the page cache
//   socket   waits for a TCP peer that answers late      epoll    the same through epoll
//   lock     eight threads for one mutex whose owner sleeps
//   pipe     waits for a pipe that is fed late           child    waits for a child that sleeps
//   memory   touches 64 MiB again and again              mix      half of the time fsync, half socket
//   halves   half of the time one busy thread, half asleep
// FOLDER is where fsync, direct and mix write. Prints what it did as one line.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <mutex>
#include <thread>
#include <vector>

#include "burner.h"

namespace {

using namespace tacho::burner;

int64_t end_ns = 0;
std::string folder = ".";
int64_t rounds = 0;

bool goes_on() { return clock_ns(CLOCK_MONOTONIC) < end_ns; }

void burn() {
  while (goes_on()) burn_user_us(20'000);
}

void burn_with(unsigned threads) {
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(burn);
  burn();
  for (auto& thread : pool) thread.join();
}

void sync_small_writes() {
  const std::string path = folder + "/bound.fsync";
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) std::exit(2);
  char block[4096] = {};
  for (off_t at = 0; goes_on(); at = (at + 4096) % (1 << 20), ++rounds) {
    block[0] = static_cast<char>(rounds);
    if (pwrite(file, block, sizeof block, at) < 0 || fsync(file) != 0) std::exit(2);
  }
  close(file);
  unlink(path.c_str());
}

void read_past_the_cache() {
  const std::string path = folder + "/bound.direct";
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC | O_DIRECT, 0600);
  constexpr size_t kBlock = 1 << 20;
  void* block = nullptr;
  if (file < 0 || posix_memalign(&block, 4096, kBlock) != 0) std::exit(2);
  for (int i = 0; i < 64; ++i)
    if (pwrite(file, block, kBlock, off_t{i} * kBlock) < 0) std::exit(2);
  for (; goes_on(); ++rounds)
    if (pread(file, block, kBlock, off_t{rounds % 64} * kBlock) < 0) std::exit(2);
  std::free(block);
  close(file);
  unlink(path.c_str());
}

// A peer, in a thread of a process of its own, that answers every 200 ms.
int connect_to_late_peer() {
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

void wait_for_peer(bool with_epoll) {
  const int client = connect_to_late_peer();
  const int watcher = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{EPOLLIN, {}};
  epoll_ctl(watcher, EPOLL_CTL_ADD, client, &event);
  for (char byte = 0; goes_on(); ++rounds) {
    if (with_epoll) epoll_wait(watcher, &event, 1, -1);
    if (recv(client, &byte, 1, 0) <= 0) std::exit(2);
  }
  close(watcher);
  close(client);
}

void wait_for_lock() {
  static std::mutex mutex;
  const auto take_turns = [] {
    while (goes_on()) {
      const std::lock_guard<std::mutex> held(mutex);
      sleep_ms(5);
      ++rounds;
    }
  };
  std::vector<std::thread> pool;
  for (int i = 0; i < 8; ++i) pool.emplace_back(take_turns);
  for (auto& thread : pool) thread.join();
}

void wait_for_pipe() {
  int ends[2];
  if (pipe(ends) != 0) std::exit(2);
  // The one that feeds it waits for a pipe, too: nobody in the tree sleeps.
  std::thread reader([&] {
    for (char byte = 0; read(ends[0], &byte, 1) == 1;) ++rounds;
  });
  int back[2];
  if (pipe(back) != 0) std::exit(2);
  std::thread timer([&] {
    while (goes_on()) sleep_ms(200);
    close(back[1]);
  });
  char byte = 0;
  if (read(back[0], &byte, 1) == 0) close(ends[1]);
  reader.join();
  timer.join();
}

void wait_for_child() {
  while (goes_on()) {
    const pid_t child = fork();
    if (child == 0) execlp("sleep", "sleep", "0.5", static_cast<char*>(nullptr)), _exit(127);
    waitpid(child, nullptr, 0);
    ++rounds;
  }
}

void touch_memory() {
  constexpr size_t kBytes = 64 << 20;
  auto* memory =
      static_cast<volatile char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (; goes_on(); ++rounds)
    for (size_t at = 0; at < kBytes && goes_on(); at += 4096) memory[at] = static_cast<char>(rounds);
}

void run(std::string_view kind) {
  const unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
  if (kind == "cores") burn_with(cpus);
  else if (kind == "crowd") burn_with(4 * cpus);
  else if (kind == "one") burn();
  else if (kind == "sleep") sleep_ms((end_ns - clock_ns(CLOCK_MONOTONIC)) / 1'000'000);
  else if (kind == "fsync") sync_small_writes();
  else if (kind == "direct") read_past_the_cache();
  else if (kind == "socket" || kind == "epoll") wait_for_peer(kind == "epoll");
  else if (kind == "lock") wait_for_lock();
  else if (kind == "pipe") wait_for_pipe();
  else if (kind == "child") wait_for_child();
  else if (kind == "memory") touch_memory();
  else std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view kind = argv[1];
  const auto whole_ns = static_cast<int64_t>(std::strtod(argv[2], nullptr) * 1e9);
  if (argc > 3) folder = argv[3];
  const int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
  const bool halves = kind == "mix" || kind == "halves";
  end_ns = start_ns + (halves ? whole_ns / 2 : whole_ns);
  run(kind == "mix" ? "fsync" : kind == "halves" ? "one" : kind);
  end_ns = start_ns + whole_ns;
  if (halves) run(kind == "mix" ? "socket" : "sleep");
  return finish("bound");
}
