/* SPDX-License-Identifier: GPL-3.0-or-later */
// pcg_oracle: random words of libpcg-cpp-dev; tests/sim/chance/test_rng.c compiles and runs it.
//   pcg_oracle dxsm STATE INCREMENT N   PCG64-DXSM: the library's 128-bit engine with the cheap
//                                       multiplier. libpcg up to 0.98.1 lacks the DXSM output, so
//                                       it is defined here as in later releases.
//   pcg_oracle pcg32 STATE INCREMENT N  the library's pcg32
// Numbers are decimal; N outputs are printed in hexadecimal, one per line.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <pcg_random.hpp>
#include <string>

typedef pcg_extras::pcg128_t u128;

struct dxsm_output {
    static std::uint64_t output(u128 state)
    {
        std::uint64_t high = std::uint64_t(state >> 64), low = std::uint64_t(state) | 1;
        high ^= high >> 32;
        high *= 0xda942042e4dd58b5ULL;
        high ^= high >> 48;
        return high * low;
    }
};

struct cheap_multiplier {
    static u128 multiplier() { return u128(0xda942042e4dd58b5ULL); }
};

typedef pcg_detail::engine<std::uint64_t, u128, dxsm_output, true,
                           pcg_detail::specific_stream<u128>, cheap_multiplier>
    dxsm;

// An engine whose raw state can be set.
template <typename engine>
struct raw : engine {
    typedef typename engine::state_type word;
    raw(word state, word increment)
    {
        this->set_stream(increment >> 1);
        this->state_ = state;
    }
};

template <typename word>
static word number(const char *text)
{
    word value = 0;
    for (; *text != '\0'; text++) value = value * 10 + word(*text - '0');
    return value;
}

template <typename engine>
static int print(char **argument)
{
    typedef typename engine::state_type word;
    raw<engine> rng(number<word>(argument[0]), number<word>(argument[1]));
    for (long n = std::atol(argument[2]); n > 0; n--) std::cout << std::hex << rng() << "\n";
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    return std::string(argv[1]) == "dxsm" ? print<dxsm>(argv + 2) : print<pcg32>(argv + 2);
}
