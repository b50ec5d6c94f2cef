%% Clauses of a tag stand apart, as in `clauses_interleaved`, and between them stands one for any
%% tag. The compiler can't bring them together then, since that one comes before the next.
-module(clauses_split).
-export([handle/1]).

handle({enter, 0, X}) -> X + 0;
handle({leave, 0, X}) -> X + 1;
handle({say, 0, X}) -> X + 2;
handle({move, 0, X}) -> X + 3;
handle({take, 0, X}) -> X + 4;
handle({drop, 0, X}) -> X + 5;
handle({trade, 0, X}) -> X + 6;
handle({ask, 0, X}) -> X + 7;
handle({_, _, X}) when X < 0 -> X;
handle({enter, 1, X}) -> X + 8;
handle({leave, 1, X}) -> X + 9;
handle({say, 1, X}) -> X + 10;
handle({move, 1, X}) -> X + 11;
handle({take, 1, X}) -> X + 12;
handle({drop, 1, X}) -> X + 13;
handle({trade, 1, X}) -> X + 14;
handle({ask, 1, X}) -> X + 15;
handle({_, _, X}) when X < 0 -> X;
handle({enter, 2, X}) -> X + 16;
handle({leave, 2, X}) -> X + 17;
handle({say, 2, X}) -> X + 18;
handle({move, 2, X}) -> X + 19;
handle({take, 2, X}) -> X + 20;
handle({drop, 2, X}) -> X + 21;
handle({trade, 2, X}) -> X + 22;
handle({ask, 2, X}) -> X + 23;
handle({_, _, X}) when X < 0 -> X;
handle({enter, 3, X}) -> X + 24;
handle({leave, 3, X}) -> X + 25;
handle({say, 3, X}) -> X + 26;
handle({move, 3, X}) -> X + 27;
handle({take, 3, X}) -> X + 28;
handle({drop, 3, X}) -> X + 29;
handle({trade, 3, X}) -> X + 30;
handle({ask, 3, X}) -> X + 31.
