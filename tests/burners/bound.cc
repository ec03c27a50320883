// burn_bound KIND SECONDS [FOLDER]: bound by exactly one thing for SECONDS of wall time.
//   cores    as many busy threads as there are CPUs      one      one busy thread
//   crowd    four busy threads for each CPU              sleep    a thread that sleeps
//   fsync    small writes, each to the disk              direct   large reads past the page cache
//   socket   waits for a TCP peer that answers late      epoll    the same through epoll
//   lock     eight threads for one mutex whose owner sleeps
//   pipe     waits for a pipe that is fed late           child    waits for a child that sleeps
//   memory   touches 64 MiB again and again              mix      half of the time fsync, half socket
//   halves   half of the time one busy thread, half asleep
//   poll     as socket, through poll                     lender   a socket of the family UNIX
//   file     eight processes for one file lock           fifo     a named pipe that nobody feeds
//   pool     eight threads that have nothing to do       reread   reads a file of 96 MiB again and again
//   paging   as memory, of 96 MiB                        part     runs a third of the time, sleeps the rest
//   peer     as socket, of the address in TACHO_PEER     serve    the other side of peer: answers every 200 ms
//   flood    as serve, but sends as fast as the link takes it
//   herd     10,000 threads asleep                       churn    threads that come and go all the time
//   futexes  a lock handed from thread to thread         calls    system calls that do nothing; both print their rounds
// FOLDER is where files are. Prints what it did as one line.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "burner.h"
#include "late_peer.h"

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

// Each peer that connects gets what `feed` sends, until it hangs up or the time is over.
void serve(void (*feed)(int peer)) {
  const sockaddr_in address = peer_address();
  const int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(server, 1) != 0)
    std::exit(2);
  pollfd wanted{server, POLLIN, 0};
  while (goes_on()) {
    if (poll(&wanted, 1, 100) <= 0) continue;
    const int peer = accept(server, nullptr, nullptr);
    feed(peer);
    close(peer);
  }
}

void answer_late(int peer) {
  for (char byte = 0; goes_on() && send(peer, &byte, 1, MSG_NOSIGNAL) == 1; ++byte) sleep_ms(200);
}

void send_all_the_time(int peer) {
  static const char block[4096] = {};
  while (goes_on() && send(peer, block, sizeof block, MSG_NOSIGNAL) > 0) ++rounds;
}

void poll_peer() {
  pollfd wanted{connect_to_late_peer(), POLLIN, 0};
  for (char byte = 0; goes_on(); ++rounds)
    if (poll(&wanted, 1, -1) != 1 || recv(wanted.fd, &byte, 1, 0) <= 0) std::exit(2);
}

void wait_for_peer(bool with_epoll, bool far = false) {
  const int client = far ? connect_to_far_peer() : connect_to_late_peer();
  const int watcher = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{EPOLLIN, {}};
  epoll_ctl(watcher, EPOLL_CTL_ADD, client, &event);
  for (char block[4096]; goes_on(); ++rounds) {
    if (with_epoll) epoll_wait(watcher, &event, 1, -1);
    if (recv(client, block, sizeof block, 0) <= 0) std::exit(2);
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

// Whoever sleeps here would be seen, so the end of the time comes from a timer's signal.
void wait_until_alarm(int descriptor) {
  const int64_t left_us = (end_ns - clock_ns(CLOCK_MONOTONIC)) / 1000;
  const itimerval timer{{}, {left_us / 1'000'000, left_us % 1'000'000}};
  struct sigaction noted {};
  noted.sa_handler = [](int) {};
  sigaction(SIGALRM, &noted, nullptr);
  setitimer(ITIMER_REAL, &timer, nullptr);
  char byte = 0;
  if (read(descriptor, &byte, 1) != -1 || errno != EINTR) std::exit(2);
}

void wait_for_fifo() {
  const std::string path = folder + "/bound.fifo";
  if (mkfifo(path.c_str(), 0600) != 0) std::exit(2);
  const int end = open(path.c_str(), O_RDWR | O_CLOEXEC);
  wait_until_alarm(end);
  unlink(path.c_str());
}

void wait_for_local_socket() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::exit(2);
  wait_until_alarm(ends[0]);
}

void wait_for_file_lock() {
  const std::string path = folder + "/bound.lock";
  close(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  for (int i = 1; i < 8; ++i)
    if (fork() == 0) break;
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  while (goes_on()) {
    flock(file, LOCK_EX);
    sleep_ms(5);
    flock(file, LOCK_UN);
    ++rounds;
  }
  unlink(path.c_str());
}

void have_nothing_to_do() {
  std::mutex mutex;
  std::condition_variable wake;
  bool over = false;
  std::vector<std::thread> pool;
  for (int i = 0; i < 8; ++i)
    pool.emplace_back([&] {
      std::unique_lock<std::mutex> held(mutex);
      wake.wait(held, [&] { return over; });
    });
  std::unique_lock<std::mutex> held(mutex);
  wake.wait_for(held, std::chrono::nanoseconds(end_ns - clock_ns(CLOCK_MONOTONIC)), [] { return false; });
  over = true;
  held.unlock();
  wake.notify_all();
  for (auto& thread : pool) thread.join();
}

void sleep_in_a_herd() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 32 << 10);
  std::vector<pthread_t> herd(10'000);
  size_t made = 0;
  const auto rest = [](void*) -> void* {
    while (goes_on()) sleep_ms(500);
    return nullptr;
  };
  while (made < herd.size() && pthread_create(&herd[made], &small, rest, nullptr) == 0) ++made;
  rounds = static_cast<int64_t>(made);
  for (size_t i = 0; i < made; ++i) pthread_join(herd[i], nullptr);
}

void come_and_go() {
  while (goes_on()) {
    std::vector<std::thread> pool;
    for (int i = 0; i < 20; ++i) pool.emplace_back([] { sleep_ms(1); });
    for (auto& thread : pool) thread.join();
    ++rounds;
  }
}

void reread_file() {
  constexpr int64_t kBytes = 96 << 20;
  const std::string path = folder + "/bound.reread";
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  static char block[1 << 16];
  for (int64_t at = 0; at < kBytes; at += sizeof block)
    if (pwrite(file, block, sizeof block, at) < 0) std::exit(2);
  fsync(file);
  for (int64_t at = 0; goes_on(); at = (at + static_cast<int64_t>(sizeof block)) % kBytes, ++rounds)
    if (pread(file, block, sizeof block, at) < 0) std::exit(2);
  unlink(path.c_str());
}

void run_in_part() {
  while (goes_on()) {
    burn_user_us(10'000);
    sleep_ms(20);
  }
}

// Two threads that hand a lock to each other: a futex call for every round.
void hand_over() {
  std::mutex mutex;
  std::condition_variable turn;
  int whose = 0;
  const auto play = [&](int me) {
    std::unique_lock<std::mutex> held(mutex);
    while (goes_on()) {
      turn.wait_for(held, std::chrono::seconds(1), [&] { return whose == me; });
      whose = 1 - me;
      ++rounds;
      turn.notify_one();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

void call_the_kernel() {
  while (goes_on())
    for (int i = 0; i < 1000; ++i, ++rounds) syscall(SYS_getppid);
}

void wait_for_child() {
  while (goes_on()) {
    const pid_t child = fork();
    if (child == 0) execlp("sleep", "sleep", "0.5", static_cast<char*>(nullptr)), _exit(127);
    waitpid(child, nullptr, 0);
    ++rounds;
  }
}

void touch_memory(size_t bytes) {
  auto* memory =
      static_cast<volatile char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (; goes_on(); ++rounds)
    for (size_t at = 0; at < bytes && goes_on(); at += 4096) memory[at] = static_cast<char>(rounds);
}

// How long the first thread could have run and did not, as the kernel counts it.
double waited_for_a_core_s() {
  FILE* file = std::fopen("/proc/self/schedstat", "re");
  unsigned long long ran_ns = 0, waited_ns = 0;
  if (file == nullptr || std::fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2) waited_ns = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(waited_ns) * 1e-9;
}

struct Kind {
  std::string_view name;
  void (*run)();
};

unsigned cpus() { return std::max(1u, std::thread::hardware_concurrency()); }

constexpr Kind kKinds[] = {
    {"cores", [] { burn_with(cpus()); }},
    {"crowd", [] { burn_with(4 * cpus()); }},
    {"one", burn},
    {"sleep", [] { sleep_ms((end_ns - clock_ns(CLOCK_MONOTONIC)) / 1'000'000); }},
    {"fsync", sync_small_writes},
    {"direct", read_past_the_cache},
    {"socket", [] { wait_for_peer(false); }},
    {"epoll", [] { wait_for_peer(true); }},
    {"peer", [] { wait_for_peer(false, true); }},
    {"serve", [] { serve(answer_late); }},
    {"flood", [] { serve(send_all_the_time); }},
    {"poll", poll_peer},
    {"lock", wait_for_lock},
    {"file", wait_for_file_lock},
    {"pipe", wait_for_pipe},
    {"fifo", wait_for_fifo},
    {"lender", wait_for_local_socket},
    {"child", wait_for_child},
    {"pool", have_nothing_to_do},
    {"memory", [] { touch_memory(64 << 20); }},
    {"paging", [] { touch_memory(96 << 20); }},
    {"reread", reread_file},
    {"part", run_in_part},
    {"herd", sleep_in_a_herd},
    {"churn", come_and_go},
    {"futexes", hand_over},
    {"calls", call_the_kernel},
};

void run(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (kind.name == name) return kind.run();
  std::exit(2);
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
  Truth truth("bound");
  truth.add("rounds", rounds);
  truth.add_seconds("delay_s", waited_for_a_core_s());
  truth.add_usage();
  truth.print();
  return 0;
}
