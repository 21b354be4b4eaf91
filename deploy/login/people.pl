#!/usr/bin/perl
# The people who may log in at the provider of the Compose profile `login`. `people` runs it where the provider runs.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Encode qw(decode);
use Getopt::Long qw(GetOptionsFromArray);
use Lemonldap::NG::Common::Conf;
use Lemonldap::NG::Common::Session;
use Net::LDAP;
use Net::LDAP::Constant qw(LDAP_NO_SUCH_ATTRIBUTE);
use Net::LDAP::Util qw(escape_dn_value escape_filter_value);
use POSIX qw(strftime);

use constant LINK_DAYS => 7;
use constant USAGE     => <<'END';
people invite NAME EMAIL [--org ID --org-name TEXT] [--full-name TEXT] [--role admin|viewer|weighbridge]...
people change NAME [--email EMAIL] [--org ID --org-name TEXT] [--full-name TEXT] [--role ROLE]... [--no-roles]
people reset NAME      a new link, for a lost password or passkey. The old ones stop working at once
people leave NAME      the person can no longer log in, and sessions end
people return NAME     takes `leave` back, with a new link
people list
people backup >FILE    people, passwords and passkeys as a tar file
END

my $configuration = Lemonldap::NG::Common::Conf->new or die "the provider does not run here\n";
my $conf          = $configuration->getConf( { raw => 1 } ) or die "the provider does not run here\n";
my $directory     = Net::LDAP->new( $conf->{ldapServer} ) or die "the directory does not run: $@\n";
checked( $directory->bind( $conf->{managerDn}, password => $conf->{managerPassword} ) );
my %storage = (
    session    => [ @$conf{qw(globalStorage globalStorageOptions)} ],
    persistent => [ @$conf{qw(persistentStorage persistentStorageOptions)} ],
);

my ( $command, @arguments ) = map { decode 'UTF-8', $_ } @ARGV;
my %commands =
  ( invite => \&invite, change => \&change, reset => \&reset_links, leave => \&leave, return => \&come_back, list => \&list );
my $run = $commands{ $command // '' } or die USAGE;
my %options;
GetOptionsFromArray( \@arguments, \%options, 'org=s', 'org-name=s', 'full-name=s', 'email=s', 'role=s@', 'no-roles' )
  or die USAGE;
if ( my ($wrong) = grep { !/^(admin|viewer|weighbridge)\z/ } @{ $options{role} // [] } ) {
    die "the role $wrong has no meaning: use admin, viewer or weighbridge\n";
}
die "--org and --org-name belong together\n" if defined $options{org} != defined $options{'org-name'};
die "the id of an organisation has letters, digits and . _ - only, and never changes\n"
  if defined $options{org} && $options{org} !~ /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z/;
my $has_failed = 0;
$run->(@arguments);
exit $has_failed;

sub checked {
    my ($answer) = @_;
    die 'the directory refuses: ' . $answer->error . "\n" if $answer->code;
    return $answer;
}

sub dn { return 'uid=' . escape_dn_value( $_[0] ) . ",ou=$_[1],dc=drover" }

# Finds a person in `people` or `left`.
sub find {
    my ( $filter, $where ) = @_;
    my $base = $where ? "ou=$where,dc=drover" : 'dc=drover';
    my $all  = checked( $directory->search( base => $base, filter => "(&(objectClass=inetOrgPerson)$filter)" ) );
    return $all->entries;
}

sub find_one {
    my ( $name, $where ) = @_;
    die USAGE unless defined $name;
    my ($entry) = find( '(uid=' . escape_filter_value($name) . ')', $where );
    return $entry // die "$name is not in the list of those who " . ( $where eq 'left' ? 'left' : 'may log in' ) . "\n";
}

sub free_email {
    my ( $email, $name ) = @_;
    die "$email is no email address\n" unless $email =~ /^[^\s@]+@[^\s@]+\z/;
    my @others = grep { $_->get_value('uid') ne $name } find( '(mail=' . escape_filter_value($email) . ')' );
    die "$email belongs to " . $others[0]->get_value('uid') . "\n" if @others;
}

# The attributes of the options. An attribute with an empty list is removed from the entry.
sub attributes {
    my %attributes;
    $attributes{mail}                         = [ $options{email} ] if defined $options{email};
    @attributes{qw(departmentNumber o)}       = ( [ $options{org} ], [ $options{'org-name'} ] ) if defined $options{org};
    @attributes{qw(displayName cn sn)}        = ( [ $options{'full-name'} ] ) x 3 if defined $options{'full-name'};
    $attributes{employeeType}                 = $options{role} // [] if $options{role} || $options{'no-roles'};
    return %attributes;
}

sub invite {
    my ( $name, $email, @rest ) = @_;
    die USAGE if !defined $email || @rest || $options{'no-roles'};
    die "the name has small letters, digits and . _ - only, and never changes: it is the user id in Drover\n"
      unless $name =~ /^[a-z0-9][a-z0-9._-]{0,63}\z/;
    die "$name exists already: use `people reset`, or `people return`\n" if find("(uid=$name)");
    free_email( $email, $name );
    $options{email} = $email;
    $options{'full-name'} //= $name;
    my %attributes = attributes();
    delete $attributes{employeeType} unless @{ $attributes{employeeType} // [] };
    checked( $directory->add( dn( $name, 'people' ), attrs => [ objectClass => 'inetOrgPerson', %attributes ] ) );
    print_link($name);
}

sub change {
    my ( $name, @rest ) = @_;
    my $entry   = find_one( $name, 'people' );
    my %changed = attributes();
    die USAGE if @rest || !%changed;
    $name = $entry->get_value('uid');
    free_email( $options{email}, $name ) if defined $options{email};
    checked( $directory->modify( $entry->dn, replace => \%changed ) );
    end_sessions($name);    # sessions have the old values
    return print_link($name) unless $entry->exists('userPassword');
    print "$name is changed, and has to log in again.\n";
}

sub reset_links {
    my ($name) = @_;
    my $entry = find_one( $name, 'people' );
    forget_secrets($entry);
    print_link( $entry->get_value('uid') );
}

sub leave {
    my ($name) = @_;
    my $entry = find_one( $name, 'people' );
    $name = $entry->get_value('uid');
    checked( $directory->moddn( $entry->dn, newrdn => "uid=$name", deleteoldrdn => 0, newsuperior => 'ou=left,dc=drover' ) );
    end_sessions($name);
    print "$name cannot log in any more. A session in the console ends within 10 minutes.\n";
}

sub come_back {
    my ($name) = @_;
    my $entry = find_one( $name, 'left' );
    $name = $entry->get_value('uid');
    forget_secrets($entry);
    checked(
        $directory->moddn( $entry->dn, newrdn => "uid=$name", deleteoldrdn => 0, newsuperior => 'ou=people,dc=drover' ) );
    print_link($name);
}

sub list {
    for my $entry ( sort { $a->get_value('uid') cmp $b->get_value('uid') } find('') ) {
        my $has_left = $entry->dn =~ /,ou=left,/;
        my $state    = $has_left ? 'left' : $entry->exists('userPassword') ? 'active' : 'invited';
        print join( "\t", $state, map { decode 'UTF-8', join ',', $entry->get_value($_) }
              qw(uid mail displayName departmentNumber o employeeType) ), "\n";
    }
}

# Removes the password, passkeys, links and sessions, and ends a lock after failures.
sub forget_secrets {
    my ($entry) = @_;
    my $name = $entry->get_value('uid');
    for my $attribute (qw(userPassword pwdAccountLockedTime)) {
        my $answer = $directory->modify( $entry->dn, delete => $attribute );
        checked($answer) unless $answer->code == LDAP_NO_SUCH_ATTRIBUTE;
    }
    remove( 'persistent', sub { ( $_[0]->{_session_uid} // '' ) eq $name } );
    end_sessions($name);
}

# Ends the sessions, tokens and links of a person. Each kind names the person differently.
sub end_sessions {
    my ($name) = @_;
    my @ended = remove( 'session',
        sub { grep { defined && $_ eq $name } @{ $_[0] }{qw(uid _user user _session_uid)} } );
    my %ended = map { ( $_ => 1 ) } @ended;
    remove( 'session', sub { $ended{ $_[0]->{user_session_id} // '' } } );
}

sub remove {
    my ( $kind, $matches ) = @_;
    my $folder = $storage{$kind}->[1]->{Directory};
    opendir my $names, $folder or die "cannot read $folder: $!\n";
    my @ids;
    for my $id ( grep { /^[0-9a-f]{32,}\z/ } readdir $names ) {
        my $session = open_session( $kind, $id );
        if ($session) {
            next unless $matches->( $session->data );
            push @ids, $id;
            $session->remove;
        }
        next unless -s "$folder/$id";    # the portal may have removed it
        warn "cannot read or remove $folder/$id: delete it\n";
        $has_failed = 1;
    }
    return @ids;
}

sub open_session {
    my ( $kind, $id, $info ) = @_;
    my ( $module, $options ) = @{ $storage{$kind} };
    my $session = Lemonldap::NG::Common::Session->new(
        {   storageModule        => $module,
            storageModuleOptions => $options,
            cacheModule          => undef,
            id                   => $id,
            force                => $info ? 1 : 0,
            ( $info ? ( kind => 'TOKEN', info => $info ) : () ),
        }
    );
    return $session && !$session->error ? $session : undef;
}

sub print_link {
    my ($name) = @_;
    my $ends_at = time + LINK_DAYS * 86400;
    # Sessions end `timeout` after `_utime`.
    my $info = { _utime => $ends_at - $conf->{timeout}, _type => 'mail', user => $name };
    my $session = open_session( 'session', undef, $info ) or die "the link cannot be stored\n";
    print "Send this link to $name. It works once, until " . strftime( '%Y-%m-%d %H:%M UTC', gmtime $ends_at ) . ":\n";
    print "$conf->{portal}resetpwd?mail_token=" . $session->id . "\n";
}
