// The study's works, with any codec.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace works {

/// Between two looks at the clock, which a look shall not slow down.
constexpr std::uint64_t records_between_looks = 1'000;

constexpr std::string_view default_type = "A";
constexpr std::int32_t default_ttl = 86'400;

/// A record, as the program itself has it.
struct Row {
    std::string key;
    std::string value;
    std::string type;
    std::int32_t ttl = 0;
    std::string first;
    std::string last;

    bool operator==(Row const&) const = default;
};

using Rows = std::vector<Row>;

/// The code point with which a text in UTF-8 begins; 0 of an empty one.
inline std::uint32_t begin_of(std::string const& text) {
    if (text.empty()) {
        return 0;
    }
    auto const lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) {
        return lead;
    }
    std::size_t const more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    std::uint32_t point = lead & (0x3fU >> more);
    for (std::size_t at = 1; at <= more; ++at) {
        point = (point << 6) | (static_cast<unsigned char>(text.at(at)) & 0x3fU);
    }
    return point;
}

/// The code point with which it ends, which is one of ASCII.
inline std::uint32_t end_of(std::string const& text) {
    return text.empty() ? 0 : static_cast<unsigned char>(text.back());
}

/// What shows that each field was read. Each place weighs 31 times as much as the next.
inline std::uint32_t number_of(Row const& row) {
    auto number = static_cast<std::uint32_t>(row.ttl);
    for (auto const* text : {&row.value, &row.type, &row.first, &row.last, &row.key}) {
        number = (number * 31 + begin_of(*text)) * 31 + end_of(*text);
    }
    return number;
}

/// The sum after one more record, or a list of them, in their order.
inline std::uint32_t after(std::uint32_t sum, Row const& row) { return sum * 31 + number_of(row); }

inline std::uint32_t after(std::uint32_t sum, Rows const& rows) {
    for (auto const& row : rows) {
        sum = after(sum, row);
    }
    return sum;
}

/// What a round over all records changes: the letter in which each key ends.
inline void change(Row& row, char letter) { row.key.back() = letter; }

inline void change(Rows& rows, char letter) {
    for (auto& row : rows) {
        change(row, letter);
    }
}

constexpr char first_letter = 'a';
constexpr std::uint32_t letters = 16;

/// The rows of a file: a line each, with tabs between its fields.
inline Rows read(std::string const& path) {
    std::ifstream file{path};
    Rows rows;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields{line};
        Row row;
        std::string ttl;
        for (auto* field : {&row.key, &row.value, &row.type, &row.first, &row.last, &ttl}) {
            std::getline(fields, *field, '\t');
        }
        row.ttl = std::stoi(ttl);
        rows.push_back(row);
    }
    return rows;
}

/// Sums what was done, and tells it every 200 ms until the time is over.
class Account {
public:
    explicit Account(double seconds) : seconds_{seconds} {
        std::puts(R"({"ready": true})");
        std::fflush(stdout);
        began_ = told_ = Clock::now();
    }

    /// Counts so many records; false once the time is over.
    template <typename Thing>
    bool add(std::uint64_t records, Thing const& thing) {
        done_ += records;
        sum_ = after(sum_, thing);
        if (done_ < look_at_) {
            return true;
        }
        look_at_ += records_between_looks;
        return look();
    }

private:
    using Clock = std::chrono::steady_clock;

    bool look() {
        auto const now = Clock::now();
        std::chrono::duration<double> const t = now - began_;
        auto const is_over = t >= seconds_;
        if (is_over || now - told_ >= std::chrono::milliseconds{200}) {
            std::printf("{\"t\": %.6f, \"done\": %ju, \"sum\": %ju}\n", t.count(),
                        std::uintmax_t{done_}, std::uintmax_t{sum_});
            std::fflush(stdout);
            told_ = now;
        }
        return !is_over;
    }

    std::chrono::duration<double> seconds_;
    Clock::time_point began_;
    Clock::time_point told_;
    std::uint64_t done_ = 0;
    std::uint32_t sum_ = 0;
    std::uint64_t look_at_ = records_between_looks;
};

/// How something becomes bytes, and is made of them again.
template <typename Thing>
struct Form {
    std::string (*encode)(Thing const&);
    Thing (*decode)(std::string const&);
};

/// Writes what was encoded, each with its length before it: four bytes, the highest first.
inline void store(std::string const& path, std::vector<std::string> const& encoded) {
    std::ofstream file{path, std::ios::binary};
    for (auto const& bytes : encoded) {
        for (auto const shift : {24, 16, 8, 0}) {
            file.put(static_cast<char>(bytes.size() >> shift));
        }
        file << bytes;
    }
    if (!file.flush()) {
        throw std::runtime_error("couldn't write " + path);
    }
}

inline std::vector<std::string> stored(std::string const& path) {
    std::ifstream file{path, std::ios::binary};
    std::vector<std::string> encoded;
    for (unsigned char highest_first[4]; file.read(reinterpret_cast<char*>(highest_first), 4);) {
        std::size_t length = 0;
        for (auto const byte : highest_first) {
            length = length << 8 | byte;
        }
        auto& bytes = encoded.emplace_back(length, '\0');
        file.read(bytes.data(), static_cast<std::streamsize>(length));
    }
    return encoded;
}

/// What the command line gives, by its names.
using Given = std::map<std::string, std::string>;

/// What things are encoded, once it is known that they are the same after the round trip.
template <typename Thing>
std::vector<std::string> checked(std::vector<Thing> const& things, Form<Thing> form) {
    std::vector<std::string> encoded;
    for (auto const& thing : things) {
        if (form.decode(encoded.emplace_back(form.encode(thing))) != thing) {
            throw std::runtime_error("a record isn't the same after the round trip");
        }
    }
    return encoded;
}

/// Where bytes have the letters that a round changes: there those of another letter differ.
template <typename Thing>
std::vector<std::size_t> places_in(std::string const& encoded, Thing thing, Form<Thing> form,
                                   std::uint64_t records) {
    change(thing, first_letter + 1);
    auto const other = form.encode(thing);
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < encoded.size() && other.size() == encoded.size(); ++at) {
        if (encoded[at] != other[at]) {
            places.push_back(at);
        }
    }
    if (places.size() != records) {
        throw std::runtime_error("another letter isn't one other byte");
    }
    return places;
}

template <typename Thing>
void work(std::vector<Thing> things, std::vector<std::string> encoded, Form<Thing> form,
          Given const& given, std::uint64_t records) {
    auto const& does = given.at("--does");
    std::minstd_rand payloads{std::stoul(given.at("--seed"))};
    std::vector<std::vector<std::size_t>> places;
    for (std::size_t at = 0; at < things.size(); ++at) {
        places.push_back(places_in(encoded[at], things[at], form, records));
    }
    // No round has what was done in the last one.
    auto const begin_round = [&] {
        auto const letter = static_cast<char>(first_letter + payloads() % letters);
        for (std::size_t at = 0; at < things.size(); ++at) {
            if (does != "decode") {
                change(things[at], letter);
                continue;
            }
            for (auto const place : places[at]) {
                encoded[at][place] = letter;
            }
        }
    };
    // How many bytes were encoded: else a compiler might leave them out.
    std::size_t volatile length = 0;
    Account account{std::stod(given.at("--seconds"))};
    auto const add = [&](std::size_t at) {
        if (does == "decode") {
            return account.add(records, form.decode(encoded[at]));
        }
        auto const made = form.encode(things[at]);
        length = made.size();
        return does == "encode" ? account.add(records, things[at])
                                : account.add(records, form.decode(made));
    };
    begin_round();
    for (std::size_t at = 0; add(at);) {
        if (++at == things.size()) {
            at = 0;
            begin_round();
        }
    }
    std::puts(R"({"result": {}})");
}

/// Does what is given to things of so many records.
template <typename Thing>
void start(Given const& given, std::vector<Thing> const& things, Form<Thing> form,
           std::uint64_t records) {
    if (auto const path = given.find("--decode-from"); path != given.end()) {
        std::vector<Thing> decoded;
        for (auto const& bytes : stored(path->second)) {
            decoded.push_back(form.decode(bytes));
        }
        if (decoded != things) {
            throw std::runtime_error(path->second + " doesn't decode to the records");
        }
        return;
    }
    auto const encoded = checked(things, form);
    if (auto const path = given.find("--made"); path != given.end()) {
        store(path->second, encoded);
    }
    if (given.contains("--does")) {
        work(things, encoded, form, given, records);
    }
}

/// Does what the command line says, with the form of a row and that of a list of rows.
inline int run(int count, char** words, Form<Row> one, Form<Rows> many) {
    try {
        Given given;
        for (int at = 1; at + 1 < count; at += 2) {
            given[words[at]] = words[at + 1];
        }
        auto const rows = read(given.at("--records"));
        auto const at_once = std::stoul(given.at("--at-once"));
        if (at_once == 1) {
            start(given, rows, one, 1);
            return EXIT_SUCCESS;
        }
        std::vector<Rows> lists;
        for (auto begin = rows.begin(); begin != rows.end(); begin += at_once) {
            lists.emplace_back(begin, begin + at_once);
        }
        start(given, lists, many, at_once);
        return EXIT_SUCCESS;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return EXIT_FAILURE;
    }
}

}  // namespace works
