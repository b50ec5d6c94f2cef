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

/// What shows that each field was read.
inline std::uint32_t number_of(Row const& row) {
    return static_cast<std::uint32_t>(row.ttl) + begin_of(row.key) + begin_of(row.value) +
           begin_of(row.type) + begin_of(row.first) + begin_of(row.last);
}

inline std::uint32_t number_of(Rows const& rows) {
    std::uint32_t sum = 0;
    for (auto const& row : rows) {
        sum += number_of(row);
    }
    return sum;
}

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

/// Adds up what was done, and tells it every 200 ms until the time is over.
class Account {
public:
    explicit Account(double seconds) : seconds_{seconds} {
        std::puts(R"({"ready": true})");
        std::fflush(stdout);
        began_ = told_ = Clock::now();
    }

    /// Counts records with the sum of their numbers; false once the time is over.
    bool add(std::uint64_t records, std::uint32_t numbers) {
        done_ += records;
        sum_ += numbers;
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

template <typename Thing>
void work(std::vector<Thing> const& things, std::vector<std::string> const& encoded,
          Form<Thing> form, std::string const& does, double seconds, std::uint64_t records) {
    // How many bytes were encoded: else a compiler might leave them out.
    std::size_t volatile length = 0;
    auto const number_at = [&](std::size_t at) {
        if (does == "decode") {
            return number_of(form.decode(encoded[at]));
        }
        auto const made = form.encode(things[at]);
        length = made.size();
        return number_of(does == "encode" ? things[at] : form.decode(made));
    };
    Account account{seconds};
    for (std::size_t at = 0; account.add(records, number_at(at));) {
        at = (at + 1) % things.size();
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
    if (auto const does = given.find("--does"); does != given.end()) {
        work(things, encoded, form, does->second, std::stod(given.at("--seconds")), records);
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
