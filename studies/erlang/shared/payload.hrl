%% The payload after X: C++'s minstd_rand. A macro, because a call would be a part of what is
%% measured.
-define(NEXT(X), (X * 48271 rem 2147483647)).
