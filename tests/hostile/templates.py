"""Chat templates that would never end, take all memory or leave the sandbox, by name."""

from __future__ import annotations

TEMPLATES: dict[str, str] = {
    "loops in loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
    "{% endfor %}",
    "a text of 10^10 letters": "{{ 'x' * 10**10 }}",
    "a power of powers": "{{ 10**10**10 }}",
    "a text doubled": "{% set n = namespace(a='x') %}{% for i in range(60) %}"
    "{% set n.a = n.a ~ n.a %}{% endfor %}",
    "a list of itself": "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
    "{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
    "a list of itself written": "{% set n = namespace(a=[1]) %}{% for i in range(60) %}"
    "{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
    "a list of itself as a key": "{% set n = namespace(a=(1,)) %}{% for i in range(60) %}"
    "{% set n.a = (n.a, n.a) %}{% endfor %}{% set d = {n.a: 1} %}",
    "a great width": "{{ '%1000000000d'|format(1) }}",
    "a great width in braces": "{{ '{:1000000000d}'.format(1) }}",
    "a width from elsewhere": "{{ '{:{}}'.format(1, '1000000000') }}",
    "a width put together": "{{ '{0:{1}{1}{1}}'.format(1, '999') }}",
    "a width put together behind a brace": "{{ '{0[}]:{1}{1}{1}}'.format({'}': 1}, '999') }}",
    "a width put together in a table": "{{ '{a:{b}{b}{b}}'.format_map({'a': 1, 'b': '999'}) }}",
    "an encoding that takes minutes": "{{ ('é' * 900000).encode('idna') }}",
    "an encoding by its name": "{{ ('é' * 900000).encode(encoding='punycode') }}",
    "a template of a megabyte": "{{ a }}" * 150_000,
    "a list of a megabyte": "{{ [" + "1," * 400_000 + "] }}",
    "a great width with a star": "{{ '%*d' % (1000000000, 1) }}",
    "a padded text": "{{ 'x'.ljust(1000000000) }}",
    "tabs": "{{ ('\t'*100000).expandtabs(99999) }}",
    "nonsense words": "{{ lipsum(n=10000000) }}",
    "replacing": "{% set a = 'x'*1000000 %}{{ a.replace('x', a) }}",
    "replacing by a filter": "{% set a = 'x'*1000000 %}{{ a|replace('x', a) }}",
    "translating": "{{ ('a'*1000000).translate({97: 'x'*1000000}) }}",
    "joining": "{% set a = ['x'*1000000]*1000000 %}{{ a|join }}",
    "macros": "{% macro f(n) %}{{ f(n+1) }}{{ f(n+1) }}{% endmacro %}{{ f(0) }}",
    "a loop of itself": "{% for x in [1] recursive %}{{ loop([1,1]) }}{% endfor %}",
    "an endless text": "{% for i in range(99999) %}{{ 'x'*1000 }}{% endfor %}",
    "a text that is kept": "{% set x %}{% for i in range(99999) %}{{ 'x'*100000 }}{% endfor %}"
    "{% endset %}",
    "sorting": "{% for i in range(99999) %}{{ (range(99999)|list|sort)|length }}{% endfor %}",
    "searching": "{{ range(99999)|select('in', range(99999)|list)|list|length }}",
    "squares of squares": "{% set n = namespace(a=9) %}{% for i in range(60) %}"
    "{% set n.a = n.a*n.a %}{% endfor %}{{ n.a }}",
    "wrapping": "{{ ('x'*1000000)|wordwrap(1) }}",
    "JSON with a great indent": "{{ ([[]]*1000)|tojson(indent=100000) }}",
    "its class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "its globals": "{{ raise_exception.__globals__['__builtins__'] }}",
    "globals of a helper": "{{ cycler.__init__.__globals__.os.system('touch CANARY') }}",
    "our own helpers": "{{ __weighed.__globals__['time'] }}",
    "a list that is changed": "{{ messages.append(1) }}",
    "an import": "{% import 'os' as os %}",
    "an include": "{% include '/etc/passwd' %}",
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "conditions": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
}
