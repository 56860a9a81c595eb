#include "gpu/mps/mps_parse.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu/mps/mps_folder.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::gpu {
namespace {

TEST(MpsParse, ServersAndClientsAreNumbersOnePerLine) {
  EXPECT_EQ(parse_mps_pids(""), std::vector<pid_t>{});
  EXPECT_EQ(parse_mps_pids("655\n"), std::vector<pid_t>{655});
  EXPECT_EQ(parse_mps_pids("582\r\n580\n\n 581 "), (std::vector<pid_t>{582, 580, 581}));
}

TEST(MpsParse, AServerThatIsGoneIsNotFoundAndGarbageIsAnError) {
  EXPECT_EQ(parse_mps_pids("Server 655 not found\n").error().code, ErrorCode::NotFound);
  for (const char* garbage :
       {"Unknown command \"x\"", "12 13", "-5", "0", "1", "99999999999999", "0x10", "655a"}) {
    const auto pids = parse_mps_pids(garbage);
    ASSERT_FALSE(pids.has_value()) << garbage;
    EXPECT_EQ(pids.error().code, ErrorCode::Internal);
  }
}

TEST(MpsParse, AnAnswerInAMessageIsCutAndHarmless) {
  const auto pids = parse_mps_pids("\x1b[2J" + std::string(10'000, 'x'));
  ASSERT_FALSE(pids.has_value());
  EXPECT_LT(pids.error().message.size(), 300U);
  EXPECT_EQ(pids.error().message.find('\x1b'), std::string::npos);
}

TEST(MpsParse, FatalErrorsOfTheGpuNameEveryClient) {
  const MpsFatalErrors errors = parse_mps_fatal_errors(
      "[2026-11-16 14:01:02.345 Other  1400] Client {PID: 1489, Context: 1} encountered a fatal "
      "GPU "
      "error.\n"
      "[2026-11-16 14:01:02.346 Other  1400] Server is handling a fatal GPU error.\n"
      "[2026-11-16 14:01:02.346 Other  1400] All clients belonging to error trigging process 1490 "
      "will be torn down\n"
      "[2026-11-16 14:01:02.346 Other  1400] The following client process have a sticky error "
      "set:\n"
      "[2026-11-16 14:01:02.346 Other  1400] 1491\n1492\n"
      "[2026-11-16 14:01:02.347 Other  1400] New client 1493 connected\n1494\n");
  EXPECT_TRUE(errors.any);
  EXPECT_EQ(errors.clients, (std::set<pid_t>{1489, 1490, 1491, 1492}));
}

TEST(MpsParse, ALogWithoutFatalErrorsHasNone) {
  for (const char* log : {"",
                          "[2026-11-16 14:01:02.345 Other  1400] Client 1489 disconnected\n1490\n",
                          "All clients will be torn down\n"}) {
    EXPECT_FALSE(parse_mps_fatal_errors(log).any) << log;
    EXPECT_TRUE(parse_mps_fatal_errors(log).clients.empty()) << log;
  }
  std::string many =
      "Server is handling a fatal GPU error. The client processes have a sticky error set:\n";
  for (int pid = 2; pid < 5000; ++pid) {
    many += std::to_string(pid) + "\n";
  }
  EXPECT_EQ(parse_mps_fatal_errors(many).clients.size(), 1024U);
}

TEST(MpsParse, OnlyTheWordFaultIsAFault) {
  EXPECT_TRUE(parse_mps_fault("FAULT\n"));
  for (const char* other :
       {"ACTIVE\n", "INITIALIZING\n", "", "Server 1 not found\n", "DEFAULT\n"}) {
    EXPECT_FALSE(parse_mps_fault(other)) << other;
  }
}

TEST(MpsParse, ATerminationEndsWithItsErrorNumber) {
  EXPECT_TRUE(parse_mps_termination("0\n").has_value());
  for (const char* failed :
       {"Invalid process 9!\n1\n", "Server 1 not found\nServer 1 not found!\n1\n", "", "10\n"}) {
    EXPECT_FALSE(parse_mps_termination(failed).has_value()) << failed;
  }
  EXPECT_NE(parse_mps_termination("Invalid process 9!\n1\n").error().message.find("process 9"),
            std::string::npos);
}

TEST(MpsParse, AbilitiesAreTheCommandsThatTheHelpLists) {
  const std::string help =
      "OPTIONS:\n  -d,--daemon       Background\nCOMMAND:\n"
      "  set_default_device_pinned_mem_limit <dev> <value>\n      Set the limit\n"
      "  set_default_client_priority <priority>\n      Priority\n"
      "  terminate_client <server PID> <client PID>\n      Ends\n";
  const auto now =
      parse_mps_abilities(help, "CUDA MPS Control. Binary version: 13000\nCopyright\n");
  EXPECT_TRUE(now.terminate_client && now.client_priority && now.pinned_memory_limit);
  EXPECT_FALSE(now.sm_partitions);
  EXPECT_EQ(now.version, "13.0");
  EXPECT_EQ(parse_mps_abilities("", "Binary version: 12080").version, "12.8");
  const auto later = parse_mps_abilities("  -S,--static-partitioning  Static\n", "");
  EXPECT_TRUE(later.sm_partitions);
  EXPECT_FALSE(later.terminate_client);
  EXPECT_EQ(later.version, "");
  // A name within a description is not a command.
  EXPECT_FALSE(
      parse_mps_abilities("  quit\n    use terminate_client first\n", "").terminate_client);
}

TEST(MpsParse, APidFileHoldsOneProcess) {
  EXPECT_EQ(parse_mps_pid_file("467"), 467);
  EXPECT_EQ(parse_mps_pid_file("467\n"), 467);
  for (const char* wrong : {"", "1", "-467", "467 468", "x"}) {
    EXPECT_FALSE(parse_mps_pid_file(wrong).has_value()) << wrong;
  }
}

TEST(MpsParse, TheOwnerFileIsReadOnlyWhenItIsWhole) {
  EXPECT_EQ(parse_owner("12 3456\n"), (ProcessIdentity{12, 3456}));
  for (const char* wrong : {"", "12", "12 ", "12 34", "-1 34\n", "0 34\n", "a 34\n", "12 -3\n"}) {
    EXPECT_FALSE(parse_owner(wrong).has_value()) << wrong;
  }
}

TEST(MpsParse, TheStartTimeIsFoundBehindAnyName) {
  const std::string tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21";
  const auto stat = parse_process_stat("42 (a (b) c)" + tail);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->name, "a (b) c");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->start_ticks, 987654U);
  EXPECT_FALSE(parse_process_stat("42 (x) S 1 2").has_value());
  EXPECT_FALSE(parse_process_stat("").has_value());
  EXPECT_FALSE(parse_process_stat(")(").has_value());
}

TEST(MpsParse, ThisProcessIsItselfAndNobodyElse) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self.has_value());
  EXPECT_TRUE(is_alive(*self));
  EXPECT_FALSE(is_alive({self->pid, self->start_ticks + 1}));
  EXPECT_FALSE(send_signal({self->pid, self->start_ticks + 1}, 9));
}

TEST(MpsParse, NoBytesWhateverHurt) {
  std::mt19937 random(1);
  const std::string alphabet = "0123456789 \n\r\t()-<>SZ:FAULTBinaryversion\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 60, ' ');
    for (char& letter : text) {
      letter = alphabet[random() % alphabet.size()];
    }
    if (const auto pids = parse_mps_pids(text)) {
      EXPECT_TRUE(std::ranges::all_of(*pids, [](pid_t pid) { return pid > 1; }));
    }
    static_cast<void>(parse_mps_fault(text));
    static_cast<void>(parse_mps_fatal_errors(text));
    static_cast<void>(parse_mps_termination(text));
    static_cast<void>(parse_mps_abilities(text, text));
    static_cast<void>(parse_mps_pid_file(text));
    static_cast<void>(parse_owner(text));
    static_cast<void>(parse_process_stat(text));
  }
}

}  // namespace
}  // namespace carpool::gpu
