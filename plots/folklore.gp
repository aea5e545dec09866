# Rules of thumb over K, beside Theorem 3.8 and the simulation, one panel for each alpha.
CSV = ARG1; OUT = ARG2; load ARG3
alphas = ''
stats CSV using (a = sprintf('%g', column('alpha')), \
    alphas = (strstrt(' ' . alphas . ' ', ' ' . a . ' ') ? alphas : alphas . ' ' . a), column('K')) nooutput
# Every column after the theorem's z is a rule of thumb.
after = HEAD[strstrt(HEAD, 'speedup_z') + 10 : *]
rules = ''
do while (strlen(after) > 0) { comma = strstrt(after, ','); \
    rules = rules . ' ' . (comma ? after[1:comma-1] : after); after = comma ? after[comma+1:*] : '' }
