#include "os/exit_messages.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kMessageBytes = 2048;      // one with its thread group's sums has 1.2 KiB in Linux 6.18
constexpr size_t kAtOnce = 16;              // messages a system call
constexpr int kKernelBytes = 8 << 20;       // what may wait between two readings: some 6,000 messages
constexpr timeval kLongestAnswer = {1, 0};  // to a question of ours
constexpr char kFamily[] = "TASKSTATS";

Error cannot_listen(int error_number, std::string hint) {
  return Error{error_number == EPERM ? Code::denied : Code::not_available,
               "the kernel does not tell of ended processes", "",
               std::strerror(error_number) + ("; " + std::move(hint))};
}

// A request with one attribute, whose answer is the kernel's number of an error, and before that perhaps a message.
Status ask(int socket, uint16_t family, uint8_t command, uint16_t kind, std::string_view value, std::string& answer) {
  struct {
    nlmsghdr head;
    genlmsghdr generic;
    nlattr attribute;
    char value[64];
  } request{};
  const size_t attribute_bytes = NLA_HDRLEN + value.size() + 1;
  if (value.size() >= sizeof request.value) return Error{Code::invalid, "too many processors", "", ""};
  request.head.nlmsg_len = static_cast<uint32_t>(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(attribute_bytes));
  request.head.nlmsg_type = family;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.generic.cmd = command;
  request.generic.version = 1;
  request.attribute.nla_len = static_cast<uint16_t>(attribute_bytes);
  request.attribute.nla_type = kind;
  std::memcpy(request.value, value.data(), value.size());
  if (::send(socket, &request, request.head.nlmsg_len, 0) < 0) return cannot_listen(errno, "no generic netlink");
  std::array<char, 8192> text{};
  for (;;) {
    const ssize_t got = ::recv(socket, text.data(), text.size(), 0);
    if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return cannot_listen(got < 0 ? errno : EIO, "no answer");
    nlmsghdr head{};
    std::memcpy(&head, text.data(), sizeof head);
    if (head.nlmsg_type != NLMSG_ERROR) {
      answer.assign(text.data(), static_cast<size_t>(got));
      continue;
    }
    int error_number = 0;
    std::memcpy(&error_number, text.data() + NLMSG_HDRLEN, sizeof error_number);
    if (error_number == 0) return ok();
    return cannot_listen(-error_number, -error_number == EPERM
                                            ? "run tacho as root, or with CAP_NET_ADMIN"
                                            : "it needs CONFIG_TASKSTATS, and no container's PID namespace");
  }
}

// The number that the kernel gave to the family.
uint16_t family_in(std::string_view answer) {
  for (size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN <= answer.size();) {
    nlattr head{};
    std::memcpy(&head, answer.data() + at, sizeof head);
    uint16_t number = 0;
    if (head.nla_len < NLA_HDRLEN) return 0;
    if (head.nla_type == CTRL_ATTR_FAMILY_ID && at + NLA_HDRLEN + sizeof number <= answer.size()) {
      std::memcpy(&number, answer.data() + at + NLA_HDRLEN, sizeof number);
      return number;
    }
    at += static_cast<size_t>(NLA_ALIGN(head.nla_len));
  }
  return 0;
}

}  // namespace

Result<ExitMessages> ExitMessages::open() {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  if (!socket) return cannot_listen(errno, "no generic netlink");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongestAnswer, sizeof kLongestAnswer);
  std::string answer;
  if (Status found = ask(socket.get(), GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, kFamily, answer);
      !found)
    return found.error();
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kKernelBytes, sizeof kKernelBytes) != 0)
    return cannot_listen(errno, "run tacho as root, or with CAP_NET_ADMIN");
  const std::string cpus = read_first_line("/sys/devices/system/cpu/possible");
  if (Status listens = ask(socket.get(), family_in(answer), TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                           cpus.empty() ? "0" : cpus, answer);
      !listens)
    return listens.error();
  return ExitMessages(std::move(socket));
}

bool ExitMessages::read(size_t most, const std::function<void(std::string_view)>& take) {
  buffer_.resize(kAtOnce * kMessageBytes);
  std::array<iovec, kAtOnce> places;
  std::array<mmsghdr, kAtOnce> messages{};
  for (size_t i = 0; i < kAtOnce; ++i) {
    places[i] = {buffer_.data() + i * kMessageBytes, kMessageBytes};
    messages[i].msg_hdr.msg_iov = &places[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  bool all = true;
  for (size_t taken = 0; taken < most;) {
    const int got = ::recvmmsg(socket_.get(), messages.data(), kAtOnce, MSG_DONTWAIT, nullptr);
    if (got < 0 && errno == ENOBUFS) {  // told once for all that was dropped
      all = false;
      continue;
    }
    for (int i = 0; i < got; ++i)
      take({static_cast<const char*>(places[static_cast<size_t>(i)].iov_base),
            messages[static_cast<size_t>(i)].msg_len});
    taken += static_cast<size_t>(std::max(got, 0));
    if (got < static_cast<int>(kAtOnce)) break;
  }
  return all;
}

}  // namespace tacho
